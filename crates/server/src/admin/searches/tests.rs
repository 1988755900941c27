//! Saved searches as forms.
