use crate::failure::{Class, Delivery, Failure, Witness};

/// The meaning of a code, a number or a text: a class, a delivery, and the source of the claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) class: Class,
    delivery: Delivery,
    by: Witness,
}

impl Named {
    /// A class, without a delivery.
    pub(super) fn unknown(class: Class) -> Self {
        Self {
            class,
            delivery: Delivery::Unknown,
            by: Witness::Hearsay,
        }
    }

    /// A class with its own delivery.
    pub(super) fn of(class: Class) -> Self {
        Self {
            delivery: class.delivery(),
            ..Self::unknown(class)
        }
    }

    /// A refusal by definition, if the server itself says it.
    pub(super) fn refusal(class: Class) -> Self {
        Self {
            class,
            delivery: Delivery::Refused,
            by: Witness::Server,
        }
    }

    /// The meaning that the user gave to a name.
    pub(super) fn chosen(class: Class, delivery: Delivery) -> Self {
        Self {
            class,
            delivery,
            by: Witness::Author,
        }
    }

    /// The same, with the source of the claim at this place: the server, or any text.
    ///
    /// A meaning that the user set counts in every place about the call.
    pub(super) fn read_from(self, place: Witness) -> Self {
        match (self.by, place) {
            (Witness::Server, Witness::Hearsay) => Self::unknown(self.class),
            _ => self,
        }
    }

    /// The same in a part of an answer, which says nothing about the whole.
    pub(super) fn of_a_part(self) -> Self {
        Self::unknown(self.class)
    }

    /// Sets the delivery of a failure.
    pub(super) fn tell(self, failure: Failure) -> Failure {
        failure.reached(self.delivery, self.by)
    }
}
