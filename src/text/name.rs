//! Whole names of companies: whether two texts, as people write them, name one company.
//!
//! A name is compared by its *loose key* and its legal forms. The key of `The Acme & Co. Ltd.` is `acme`, its
//! legal forms are those of `co` and `ltd`. Two names agree if their keys are equal and their legal forms
//! do not contradict: `Acme` is `Acme, Inc.` and `Acme AG`, but these two are different companies.
//!
//! The key is made in these steps, each of which leaves something:
//!
//! 1. The text is folded as values are; apostrophes are dropped; `&` and `+` become the word `and`; words are runs of
//!    letters, marks and digits.
//! 2. Legal forms, `and` and `the` are dropped from the end.
//! 3. A legal form is dropped from the beginning, then `the`, and then `com` after a dot from the end.
//! 4. Every `and` is dropped, the words are run together, and legal forms that are written without spaces are dropped.

use std::borrow::Cow;
use std::sync::LazyLock;

use hashbrown::HashMap;
use smallvec::SmallVec;
use smol_str::SmolStr;
use unicode_normalization::char::is_combining_mark;

use super::Form;

/// Whether `item` names the company called `name`, as people write names.
///
/// This function defines which names an item of `companies` selects: the index and saved searches agree with it.
///
/// ```
/// use signaldex::text::is_company_name;
///
/// assert!(is_company_name("procter and gamble", "Procter & Gamble Co."));
/// assert!(is_company_name("Moodys Corp", "Moody’s Corporation"));
/// assert!(is_company_name("Cars", "Cars.com"));
/// assert!(!is_company_name("Acme AG", "Acme, Inc."), "legal forms contradict");
/// assert!(!is_company_name("Acme Labs", "Acme"), "a name is compared as a whole");
/// ```
///
/// Cost: about a microsecond for each name; [`CompanyName`] compares one with many.
pub fn is_company_name(item: &str, name: &str) -> bool {
    CompanyName::new(item).agrees_with(&CompanyName::new(name))
}

/// The word that `&` and `+` stand for.
const AND: &str = "and";

/// The article that may begin or end a name.
const THE: &str = "the";

/// The domain that may end a name.
const COM: &str = "com";

/// A company's name, analysed for comparison.
///
/// ```
/// use signaldex::text::CompanyName;
///
/// let typed = CompanyName::new("acme inc");
/// assert!(typed.agrees_with(&CompanyName::new("The Acme, Incorporated")));
/// assert!(!typed.agrees_with(&CompanyName::new("Acme GmbH")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CompanyName {
    /// The loose key or, of a name without letters and digits, the folded name. A loose key has a letter or
    /// digit, so the two never meet.
    key: SmolStr,
    forms: LegalForms,
}

impl CompanyName {
    /// Analyses a name.
    ///
    /// ```
    /// let name = signaldex::text::CompanyName::new("株式会社アクメ");
    /// assert_eq!(name.key(), "アクメ");
    /// ```
    ///
    /// Cost: about a microsecond.
    pub fn new(name: &str) -> CompanyName {
        let folded = super::fold_value(name);
        let mut forms = LegalForms::default();
        if !folded.chars().any(char::is_alphanumeric) {
            let key = SmolStr::from(folded);
            return CompanyName { key, forms };
        }
        let mut words = NameWords::of(&folded);
        words.drop_endings(&mut forms);
        words.drop_beginnings(&mut forms);
        let joined = words.joined();
        let key = without_affixes(&joined, &mut forms).into();
        CompanyName { key, forms }
    }

    /// The text by which names are looked up: names that agree have one key, those of one key may differ in their
    /// legal forms.
    ///
    /// ```
    /// use signaldex::text::CompanyName;
    ///
    /// assert_eq!(CompanyName::new("The Acme & Sons Company").key(), "acmesons");
    /// assert_eq!(CompanyName::new("!").key(), "!", "there is nothing but the text");
    /// ```
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whether both name one company: their keys are equal, and one that has a legal form has all those of the other,
    /// or the other way round.
    ///
    /// ```
    /// use signaldex::text::CompanyName;
    ///
    /// let [short, german, american] = ["Acme", "Acme AG", "Acme Inc."].map(CompanyName::new);
    /// assert!(short.agrees_with(&german) && american.agrees_with(&short));
    /// assert!(!german.agrees_with(&american));
    /// ```
    pub fn agrees_with(&self, other: &CompanyName) -> bool {
        self.key == other.key && !self.forms.contradict(other.forms)
    }

    /// Whether the name has a legal form. One without agrees with every name of its key.
    pub(crate) fn has_legal_form(&self) -> bool {
        self.forms != LegalForms::default()
    }
}

/// The words by which `company` finds a name, as [`words`](super::words) gives them: without `and` where another is left.
pub(crate) fn name_words(name: &str) -> Vec<Vec<String>> {
    super::words_of(|sink| visit_name_forms(name, sink))
}

/// Calls `sink` with each form of those words, the primary one of a word first.
pub(crate) fn visit_name_forms(name: &str, mut sink: impl FnMut(Form<'_>)) {
    let (mut ands, mut has_others, mut is_left_out) = (0, false, false);
    super::visit_forms(name, |form| {
        // The alternates of a word go with it.
        is_left_out = is_left_out_of_names(form.text) && !form.is_alternate
            || is_left_out && form.is_alternate;
        if !is_left_out {
            has_others = true;
            sink(form);
        } else if !form.is_alternate {
            ands += 1;
        }
    });
    if !has_others {
        let and = Form {
            text: AND,
            is_alternate: false,
            range: 0..0,
        };
        (0..ands).for_each(|_| sink(and.clone()));
    }
}

/// Whether a term is left out of names that have another one.
pub(crate) fn is_left_out_of_names(term: &str) -> bool {
    term == AND
}

/// A set of codes of legal forms, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct LegalForms(u128);

impl LegalForms {
    fn add(&mut self, others: LegalForms) {
        self.0 |= others.0;
    }

    /// Whether both have some, and neither contains the other.
    fn contradict(self, other: LegalForms) -> bool {
        self.0 & !other.0 != 0 && other.0 & !self.0 != 0 && self.0 != 0 && other.0 != 0
    }
}

/// Where a legal form stands in a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormKind {
    /// The last words of a name, run together.
    End,
    /// Its first word.
    Start,
    /// Its first or last word.
    Word,
    /// Its beginning or end, without a space.
    Affix,
}

/// The table of legal forms.
struct FormTable {
    words: HashMap<&'static str, (FormKind, LegalForms)>,
    /// Longest first.
    affixes: Vec<(&'static str, LegalForms)>,
    /// By its first and last byte, the lengths in bytes of the forms of words, a bit each. Most words are no legal form,
    /// which shows here for less than it takes to hash them.
    lengths: [u64; 256],
}

/// Where, codes and written forms of each legal form, as letters and digits run together.
static FORMS: LazyLock<FormTable> =
    LazyLock::new(|| FormTable::read(include_str!("name/legal-forms.tsv")));

/// The most words that are one legal form: letters with dots between them are a word each.
const FORM_WORDS_MAX: usize = 7;

impl FormTable {
    fn read(table: &'static str) -> FormTable {
        let mut codes: Vec<&str> = Vec::new();
        let (mut words, mut affixes) = (HashMap::new(), Vec::new());
        let rows = table.lines().filter(|line| !line.starts_with('#'));
        for row in rows {
            let mut cells = row.split('\t');
            let mut cell = || cells.next().unwrap_or_default();
            let (place, of_row, written) = (cell(), cell(), cell());
            let mut forms = LegalForms::default();
            for code in of_row.split(' ') {
                let known = codes.iter().position(|other| *other == code);
                let number = known.unwrap_or(codes.len());
                if known.is_none() {
                    codes.push(code);
                }
                forms.add(LegalForms(1 << number));
            }
            for form in written.split(' ') {
                match FormKind::named(place) {
                    FormKind::Affix => affixes.push((form, forms)),
                    kind => drop(words.insert(form, (kind, forms))),
                }
            }
        }
        affixes.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
        let mut lengths = [0; 256];
        for form in words.keys() {
            lengths[ends_of(form)] |= length_bit(form);
        }
        FormTable {
            words,
            affixes,
            lengths,
        }
    }

    /// The codes of a form of words, if it may stand where it does.
    fn find(&self, form: &str, allowed: impl Fn(FormKind) -> bool) -> Option<LegalForms> {
        if self.lengths[ends_of(form)] & length_bit(form) == 0 {
            return None;
        }
        let &(kind, forms) = self.words.get(form)?;
        allowed(kind).then_some(forms)
    }
}

/// A number of 8 bits for the first and last byte of a text.
fn ends_of(text: &str) -> usize {
    let bytes = text.as_bytes();
    let [first, last] = [bytes.first(), bytes.last()].map(|byte| byte.copied().unwrap_or(0));
    usize::from(first.rotate_left(3) ^ last)
}

/// The bit of a text's length. Those of 63 bytes and more share one.
fn length_bit(text: &str) -> u64 {
    1 << text.len().min(63)
}

impl FormKind {
    fn named(name: &str) -> FormKind {
        match name {
            "start" => FormKind::Start,
            "word" => FormKind::Word,
            "affix" => FormKind::Affix,
            _ => FormKind::End,
        }
    }
}

/// A word of a name: a range of the words run together.
#[derive(Clone, Copy, Debug)]
struct NameWord {
    start: usize,
    end: usize,
    is_after_dot: bool,
}

/// The words of a name that are left.
struct NameWords {
    /// All words run together, those that are no longer left, too.
    text: String,
    words: SmallVec<[NameWord; 8]>,
    /// The index of the first word that is left.
    first: usize,
}

impl NameWords {
    /// The words of a folded name.
    fn of(folded: &str) -> NameWords {
        let mut words = NameWords {
            text: String::with_capacity(folded.len() + AND.len()),
            words: SmallVec::new(),
            first: 0,
        };
        if folded.is_ascii() {
            words.add_ascii(folded);
            return words;
        }
        let (mut is_in_word, mut before) = (false, ' ');
        // Invariant: the characters so far are in the words, and `before` is the last that counts.
        for letter in folded.chars().filter(|&letter| letter != '\'') {
            let is_sign = matches!(letter, '&' | '+');
            // A mark with no letter before it would be a word that says nothing.
            let continues = letter.is_alphanumeric() || (is_in_word && is_combining_mark(letter));
            if is_sign || (continues && !is_in_word) {
                words.begin(before == '.');
            }
            if is_sign {
                words.push(AND);
            } else if continues {
                words.push(letter.encode_utf8(&mut [0; 4]));
            }
            (is_in_word, before) = (continues, letter);
        }
        words
    }

    /// Adds the words of a folded ASCII name as [`of`](Self::of) finds them: each run of letters and digits at once.
    fn add_ascii(&mut self, folded: &str) {
        let bytes = folded.as_bytes();
        let (mut is_in_word, mut before, mut start) = (false, b' ', 0);
        // Invariant: what is before `start` is in the words, and `before` is the last of it that counts.
        while let Some(&byte) = bytes.get(start) {
            let run = &bytes[start..];
            let run = run.iter().take_while(|byte| byte.is_ascii_alphanumeric());
            let end = start + run.count();
            if start < end {
                if !is_in_word {
                    self.begin(before == b'.');
                }
                self.push(&folded[start..end]);
                (is_in_word, before, start) = (true, bytes[end - 1], end);
                continue;
            }
            start += 1;
            if byte == b'\'' {
                continue;
            }
            if matches!(byte, b'&' | b'+') {
                self.begin(before == b'.');
                self.push(AND);
            }
            (is_in_word, before) = (false, byte);
        }
    }

    /// Begins a word.
    fn begin(&mut self, is_after_dot: bool) {
        let start = self.text.len();
        self.words.push(NameWord {
            start,
            end: start,
            is_after_dot,
        });
    }

    /// Adds to the last word.
    fn push(&mut self, letters: &str) {
        self.text.push_str(letters);
        if let Some(last) = self.words.last_mut() {
            last.end = self.text.len();
        }
    }

    fn len(&self) -> usize {
        self.words.len() - self.first
    }

    fn get(&self, word: NameWord) -> &str {
        &self.text[word.start..word.end]
    }

    /// Whether one of these words says more than `and` and `the`.
    fn say_something(&self, words: &[NameWord]) -> bool {
        let mut words = words.iter().map(|&word| self.get(word));
        words.any(|word| word != AND && word != THE)
    }

    /// Step 2 of the key.
    fn drop_endings(&mut self, forms: &mut LegalForms) {
        // Invariant: the words that are left say something, if the name does. Each turn drops one or more.
        while let Some((count, dropped)) = self.ending() {
            self.words.truncate(self.words.len() - count);
            forms.add(dropped);
        }
    }

    /// The number of last words to drop, and the codes of their legal form.
    fn ending(&self) -> Option<(usize, LegalForms)> {
        let words = &self.words[self.first..];
        let end = words.last()?.end;
        let last = self.get(*words.last()?);
        if last == AND || last == THE {
            let rest = &words[..words.len() - 1];
            return self
                .say_something(rest)
                .then_some((1, LegalForms::default()));
        }
        // The longest run comes first.
        (1..=words.len().min(FORM_WORDS_MAX))
            .rev()
            .find_map(|count| {
                let (rest, run) = words.split_at(words.len() - count);
                let run = &self.text[run[0].start..end];
                let is_allowed =
                    |kind| kind == FormKind::End || (kind == FormKind::Word && count == 1);
                let forms = FORMS.find(run, is_allowed)?;
                self.say_something(rest).then_some((count, forms))
            })
    }

    /// Step 3 of the key.
    fn drop_beginnings(&mut self, forms: &mut LegalForms) {
        let is_allowed = |kind| matches!(kind, FormKind::Start | FormKind::Word);
        if let [first, rest @ ..] = &self.words[self.first..]
            && let Some(dropped) = FORMS.find(self.get(*first), is_allowed)
            && self.say_something(rest)
        {
            forms.add(dropped);
            self.first += 1;
        }
        if self.len() > 1 && self.get(self.words[self.first]) == THE {
            self.first += 1;
        }
        let last = self.words.last().copied();
        let is_domain = |word: NameWord| word.is_after_dot && self.get(word) == COM;
        if self.len() > 1 && last.is_some_and(is_domain) {
            self.words.pop();
        }
    }

    /// The words run together, without `and` if another is left.
    fn joined(&self) -> Cow<'_, str> {
        let words = &self.words[self.first..];
        let (Some(first), Some(last)) = (words.first(), words.last()) else {
            return Cow::Borrowed("");
        };
        let ands = words.iter().filter(|&&word| self.get(word) == AND).count();
        if ands == 0 || ands == words.len() {
            return Cow::Borrowed(&self.text[first.start..last.end]);
        }
        let others = words.iter().map(|&word| self.get(word));
        others.filter(|&word| word != AND).collect()
    }
}

/// Drops legal forms from the beginning and the end of a text, while a letter or digit is left.
fn without_affixes<'t>(mut text: &'t str, forms: &mut LegalForms) -> &'t str {
    if text.is_ascii() {
        return text;
    }
    // Invariant: a letter or digit is left, of a text that has one. Each turn drops the longest form.
    while let Some((rest, dropped)) = FORMS.affixes.iter().find_map(|&(affix, codes)| {
        let rest = text.strip_prefix(affix).or(text.strip_suffix(affix))?;
        rest.contains(char::is_alphanumeric)
            .then_some((rest, codes))
    }) {
        text = rest;
        forms.add(dropped);
    }
    text
}

#[cfg(test)]
mod tests;
