use crate::failure::escaped;
use ::rmcp::model::ContentBlock;
use serde::Deserialize;
use serde_json::Value;

/// The longest reason in a replacement text, in bytes.
const REASON: usize = 200;

/// The most replacement texts; the last of them is for all further blocks.
const STAND_INS: usize = 16;

/// The blocks of a tool's result. Each unreadable block is replaced by a text.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) blocks: Vec<ContentBlock>,
    /// The blocks that were left out, and the reasons.
    pub(super) lost: Vec<String>,
}

impl Content {
    /// Reads `content`.
    ///
    /// # Errors
    ///
    /// If it is neither a list, nor a block, nor a text.
    pub(super) fn read(content: Value) -> Result<Self, String> {
        let blocks = match content {
            Value::Null => Vec::new(),
            Value::Array(blocks) => blocks,
            Value::Object(_) => vec![content],
            Value::String(text) => {
                return Ok(Self {
                    blocks: vec![ContentBlock::text(text)],
                    lost: Vec::new(),
                });
            }
            Value::Bool(_) | Value::Number(_) => {
                return Err("its `content` is not a list of blocks".to_owned());
            }
        };
        let mut read = Self::default();
        let mut more = 0_usize;
        for block in blocks {
            let block = match block {
                Value::String(text) => Ok(ContentBlock::text(text)),
                block => self::block(block),
            };
            match block {
                Ok(block) => read.blocks.push(block),
                Err(_) if read.lost.len() >= STAND_INS - 1 => more += 1,
                Err(lost) => read.lose(lost),
            }
        }
        if more > 0 {
            read.lose(format!("{more} more block(s) were left out"));
        }
        Ok(read)
    }

    fn lose(&mut self, lost: String) {
        self.blocks.push(ContentBlock::text(format!("[{lost}]")));
        self.lost.push(lost);
    }

    /// Whether there were blocks, and none could be read.
    pub(super) fn is_lost(&self) -> bool {
        !self.lost.is_empty() && self.lost.len() == self.blocks.len()
    }
}

/// Reads one block, or returns the reason.
fn block(mut block: Value) -> Result<ContentBlock, String> {
    let error = match ContentBlock::deserialize(&block) {
        Ok(block) => return Ok(block),
        Err(error) => error,
    };
    // Members that only describe it may be left out.
    if let Value::Object(members) = &mut block {
        members.remove("annotations");
        members.remove("_meta");
        if let Ok(block) = ContentBlock::deserialize(&*members) {
            return Ok(block);
        }
    }
    let kind = block
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("unknown");
    let kind = escaped(kind, REASON / 4, &[]);
    let reason = escaped(&error.to_string(), REASON, &[]);
    Err(format!(
        "a block of the type `{kind}` was left out, since it cannot be read: {reason}"
    ))
}
