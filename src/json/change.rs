//! Changes as JSON.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::output::SignalItem;
use crate::index::Change;

/// A change: `{"op":"upsert","signal":{…}}` or `{"op":"remove","id":"…"}`.
#[derive(Clone, Copy, Debug)]
pub struct ChangeItem<'a> {
    /// The change.
    pub change: &'a Change<'a>,
}

impl Serialize for ChangeItem<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("ChangeItem", 2)?;
        match self.change {
            Change::Upsert { item, .. } => {
                object.serialize_field("op", "upsert")?;
                object.serialize_field("signal", &SignalItem::from(item))?;
            }
            Change::Remove { id } => {
                object.serialize_field("op", "remove")?;
                object.serialize_field("id", &id.to_string())?;
            }
        }
        object.end()
    }
}
