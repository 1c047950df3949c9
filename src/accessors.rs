//! Access to the inner service.

macro_rules! inner_accessors {
    ($($path:ident).+) => {
        /// The inner service.
        #[must_use]
        pub fn get_ref(&self) -> &S {
            &self.$($path).+
        }

        /// The inner service, mutably.
        #[must_use]
        pub fn get_mut(&mut self) -> &mut S {
            &mut self.$($path).+
        }

        /// Returns the inner service.
        #[must_use]
        pub fn into_inner(self) -> S {
            self.$($path).+
        }
    };
}
