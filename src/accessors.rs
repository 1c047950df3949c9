//! What every service with one service within offers.

macro_rules! inner_accessors {
    ($($path:ident).+) => {
        /// The service within.
        #[must_use]
        pub fn get_ref(&self) -> &S {
            &self.$($path).+
        }

        /// The service within, to be changed.
        #[must_use]
        pub fn get_mut(&mut self) -> &mut S {
            &mut self.$($path).+
        }

        /// Unwraps the service within.
        #[must_use]
        pub fn into_inner(self) -> S {
            self.$($path).+
        }
    };
}
