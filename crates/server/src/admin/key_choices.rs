//! The choice of a key on the pages of usage and requests: the newest keys, and the chosen one.

use super::figures;
use super::form::SelectOption;
use crate::keys::KeyRecord;
use crate::state::{State, StateError};

/// Keys to choose from. The page of keys finds all others and links to what they asked and used.
const CHOICES_MAX: usize = 100;

/// The keys to choose from.
pub(super) struct KeyChoices {
    pub(super) choices: Vec<SelectOption>,
    /// How many keys are not among them; empty if all are.
    pub(super) others: String,
    pub(super) chosen: Option<KeyRecord>,
}

impl KeyChoices {
    /// The choices if the key of an id is chosen, or all keys if there is no such key.
    pub(super) fn read(state: &State, id: &str) -> Result<KeyChoices, StateError> {
        let (newest, all) = state.newest_keys(CHOICES_MAX, state.now())?;
        let chosen = state.key(id)?;
        let newest = newest.iter();
        let is_older = |chosen: &&KeyRecord| newest.clone().all(|key| key.id != chosen.id);
        let older = chosen.as_ref().filter(is_older);
        let choices: Vec<SelectOption> = older
            .into_iter()
            .chain(newest.clone())
            .map(|key| choice(key, id))
            .collect();
        let others = all.saturating_sub(choices.len() as u64);
        Ok(KeyChoices {
            others: match others {
                0 => String::new(),
                _ => figures::grouped(others),
            },
            choices,
            chosen,
        })
    }
}

fn choice(key: &KeyRecord, chosen: &str) -> SelectOption {
    let name = figures::key_name(&key.id, &key.settings.name);
    let hint = key.hint.as_ref().unwrap_or(&key.id);
    SelectOption {
        label: format!("{name} ({hint})"),
        is_chosen: key.id == chosen,
        value: key.id.clone(),
    }
}
