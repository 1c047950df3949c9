//! Methods and impls that many types have in the same form.

/// Access to the inner service.
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

/// Getters of fields that are `Copy`, under their names.
macro_rules! getters {
    ($($(#[$doc:meta])* $field:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $field(&self) -> $type {
            self.$field
        }
    )*};
}

/// A `Debug` that shows only the name of the type.
macro_rules! debug_name {
    ($name:ident $(<$($generic:ident),+>)?) => {
        impl $(<$($generic),+>)? ::std::fmt::Debug for $name $(<$($generic),+>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}
