use std::{str::FromStr, time::Duration};

/// `NAME=SECONDS`: the attempt timeout of one tool.
#[derive(Clone, Debug)]
pub(crate) struct ToolTimeout {
    pub(crate) name: String,
    pub(crate) limit: Duration,
}

impl FromStr for ToolTimeout {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "give the name of a tool, `=`, and a number of seconds above 0";
        let (name, seconds) = text.rsplit_once('=').ok_or(wrong)?;
        let seconds = seconds.parse().ok();
        let limit = seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .filter(|limit| !limit.is_zero() && !name.is_empty())
            .ok_or(wrong)?;
        Ok(Self {
            name: name.to_owned(),
            limit,
        })
    }
}
