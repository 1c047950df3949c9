use mcp_resilience::{Class, Delivery, Failure, classify::ClassifyLayer, failure::BoxError};
use std::io;

/// The inner error, the context around it, and the resulting failure.
macro_rules! reports {
    ($krate:ident, $feature:literal) => {
        #[cfg(feature = $feature)]
        mod $krate {
            use super::{BoxError, Class, ClassifyLayer, Delivery, Failure, io};
            use $krate::{Context, Result};

            fn tool(report: impl Fn() -> Result<()>) -> Failure {
                let tool = || -> Result<(), Failure> { Ok(report()?) };
                tool().unwrap_err()
            }

            fn refused() -> Failure {
                Failure::rate_limited(None)
                    .before_running()
                    .with_retryable(true)
            }

            #[test]
            fn a_failure_inside_keeps_its_class_and_loses_its_claims() {
                for failure in [
                    tool(|| Err(refused().into())),
                    tool(|| Err::<(), _>(refused()).context("while it looked")),
                    tool(|| {
                        let inner = Err::<(), _>(refused()).context("one");
                        inner.context("two")
                    }),
                ] {
                    assert_eq!(failure.class(), Class::RateLimited);
                    assert_eq!(failure.delivery(), Delivery::Unknown);
                    assert_eq!(failure.retryable(), None);
                }
            }

            #[test]
            fn an_error_of_io_inside_keeps_its_class() {
                let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
                let plain = tool(|| Err(reset().into()));
                assert_eq!(plain.class(), Class::Connection);
                let wrapped = tool(|| Err::<(), _>(reset()).context("while it looked"));
                assert_eq!(wrapped.class(), Class::Connection);
            }

            #[test]
            fn any_other_report_is_a_crash_whose_chain_is_in_the_log() {
                let failure = tool(|| {
                    let parsed = "many".parse::<u32>().context("the count");
                    parsed.map(drop)
                });
                assert_eq!(failure.class(), Class::Crash);
                let chain = failure.chain().to_string();
                assert!(chain.contains("the count: invalid digit"), "{chain}");
            }

            #[test]
            fn a_report_in_a_box_still_shows_its_sources() {
                let reset = io::Error::from(io::ErrorKind::ConnectionReset);
                let report = Err::<(), _>(reset).context("while it looked").unwrap_err();
                let failure = ClassifyLayer::new().classify(BoxError::from(report));
                assert_eq!(failure.class(), Class::Connection);
            }
        }
    };
}

reports!(anyhow, "anyhow");
reports!(eyre, "eyre");
