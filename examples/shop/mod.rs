//! The Bookshop, for every SDK: a shop whose tools fail in different ways.
#![allow(dead_code, reason = "each example uses its own part")]

mod catalog;
mod input;
pub(crate) mod options;
mod service;

pub(crate) use self::{
    catalog::Catalog,
    input::{Book, Nap, Print, Quote, Reservation},
    service::{Quoted, Shop},
};
