//! Checks the length of sentences in the documentation.

use std::{fs, path::Path};

const LONGEST: usize = 35;

#[test]
fn no_sentence_of_the_docs_has_more_than_35_words() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    let mut long = Vec::new();
    for entry in super::all_files_under(&src) {
        let text = fs::read_to_string(&entry).unwrap();
        let is_markdown = entry.extension().is_some_and(|ending| ending == "md");
        for paragraph in paragraphs(&text, is_markdown) {
            for sentence in sentences(&paragraph) {
                seen += 1;
                if words(&sentence) > LONGEST {
                    long.push(format!("{}: {sentence}", entry.display()));
                }
            }
        }
    }
    assert!(seen > 3000, "sentences: {seen}");
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn a_sentence_is_read_over_lines_and_without_code_and_links() {
    let text = "\
        /// One sentence, with `code. that has? signs` and a [link](crate::Failure). It\n\
        /// goes on: with a second.\n\
        ///\n\
        /// | a cell | another. Cell |\n\
        /// - an item\n\
        /// ```\n\
        /// let code = \"is. none\";\n\
        /// ```\n\
        // A comment is none.\n\
        fn item() {}\n";
    let paragraphs = paragraphs(text, false);
    let all: Vec<_> = paragraphs.iter().flat_map(|it| sentences(it)).collect();
    assert_eq!(
        all,
        [
            "One sentence, with CODE and a [link].",
            "It goes on: with a second.",
            "a cell",
            "another.",
            "Cell",
            "- an item",
        ]
    );
    assert_eq!(words(&all[0]), 7);
}

/// The blocks of a text: paragraphs, list items and table cells.
fn paragraphs(text: &str, is_markdown: bool) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut is_code = false;
    for line in text.lines() {
        let line = line.trim();
        let doc = ["///", "//!"].iter().find_map(|it| line.strip_prefix(it));
        let Some(line) = doc.or(is_markdown.then_some(line)).map(str::trim) else {
            is_code = false;
            found.push(String::new());
            continue;
        };
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        let is_link = line.starts_with('[') && line.contains("]: ");
        if line.is_empty() || is_fence || is_code || is_link || line.starts_with('#') {
            found.push(String::new());
        } else if let Some(row) = line.strip_prefix('|') {
            found.extend(row.split('|').map(|cell| cell.trim().to_owned()));
            found.push(String::new());
        } else {
            let item = line.split_once(' ').map_or("", |(first, _)| first);
            let is_number = item
                .strip_suffix('.')
                .is_some_and(|it| it.parse::<u8>().is_ok());
            if item == "-" || is_number {
                found.push(String::new());
            }
            if let Some(last) = found.last_mut() {
                last.push_str(if last.is_empty() { "" } else { " " });
                last.push_str(line);
            }
        }
    }
    found.retain(|it| !it.is_empty());
    found
}

/// The sentences of a paragraph; each piece of code is one word, and links have no targets.
fn sentences(paragraph: &str) -> Vec<String> {
    let mut plain = String::new();
    for (place, part) in paragraph.split('`').enumerate() {
        plain.push_str(if place % 2 == 0 { part } else { "CODE" });
    }
    while let Some(at) = plain.find("](") {
        let end = plain[at..]
            .find(')')
            .map_or(plain.len(), |end| at + end + 1);
        plain.replace_range(at + 1..end, "");
    }
    let mut found = vec![String::new()];
    for word in plain.split_whitespace() {
        if let Some(last) = found.last_mut() {
            last.push_str(if last.is_empty() { "" } else { " " });
            last.push_str(word);
        }
        let end = word.trim_end_matches(['"', '*', ')', ']', '_']);
        if end.ends_with(['.', '!', '?']) {
            found.push(String::new());
        }
    }
    found.retain(|it| !it.is_empty());
    found
}

fn words(sentence: &str) -> usize {
    let words = sentence.split(' ');
    words
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .count()
}
