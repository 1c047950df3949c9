use crate::failure::{Class, Delivery, Failure, Witness};

/// What a word, a number or a text means: a class, how far the call got, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) class: Class,
    delivery: Delivery,
    by: Witness,
}

impl Named {
    /// A class, and nothing of whether the call ran.
    pub(super) fn unknown(class: Class) -> Self {
        Self {
            class,
            delivery: Delivery::Unknown,
            by: Witness::Hearsay,
        }
    }

    /// A class, with what it says by itself.
    pub(super) fn of(class: Class) -> Self {
        Self {
            delivery: class.delivery(),
            ..Self::unknown(class)
        }
    }

    /// A refusal by its definition, if the server itself says it.
    pub(super) fn refusal(class: Class) -> Self {
        Self {
            class,
            delivery: Delivery::Refused,
            by: Witness::Server,
        }
    }

    /// What the user chose that a name means.
    pub(super) fn chosen(class: Class, delivery: Delivery) -> Self {
        Self {
            class,
            delivery,
            by: Witness::Author,
        }
    }

    /// The same, where it was read: the server speaks there itself, or anybody may.
    ///
    /// What the user chose holds wherever an answer speaks of the call.
    pub(super) fn read_from(self, place: Witness) -> Self {
        match (self.by, place) {
            (Witness::Server, Witness::Hearsay) => Self::unknown(self.class),
            _ => self,
        }
    }

    /// The same in a part of an answer, which tells nothing of the whole.
    pub(super) fn of_a_part(self) -> Self {
        Self::unknown(self.class)
    }

    /// Tells a failure how far the call got.
    pub(super) fn tell(self, failure: Failure) -> Failure {
        failure.reached(self.delivery, self.by)
    }
}
