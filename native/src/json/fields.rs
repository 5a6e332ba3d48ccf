//! The fields of objects that a dialect uses, by the server's names.

use super::{Value, members};

/// The fields of an object that are used.
pub trait Fields<'a>: Default {
    /// The field with this name.
    fn named(&mut self, name: &[u8]) -> Option<&mut Value<'a>>;

    /// Reads the object at the beginning of a text; returns its end, too. Of a repeated name the last counts.
    fn read(text: &'a [u8]) -> Option<(Self, usize)> {
        let mut fields = Self::default();
        let end = members(text, |name, value| {
            if let Some(field) = fields.named(name) {
                *field = value;
            }
        })?;
        Some((fields, end))
    }
}

/// Defines a struct of the fields with these names.
macro_rules! fields {
    ($Fields:ident { $($field:ident $name:literal)* }) => {
        /// The fields that are used.
        #[derive(Default)]
        pub struct $Fields<'a> {
            $(pub $field: $crate::json::Value<'a>,)*
        }

        impl<'a> $crate::json::fields::Fields<'a> for $Fields<'a> {
            fn named(&mut self, name: &[u8]) -> Option<&mut $crate::json::Value<'a>> {
                match name {
                    $($name => Some(&mut self.$field),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use fields;
