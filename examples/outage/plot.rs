//! Plots with one panel for each strategy, all on the same scale.

use super::{
    Measured,
    figures::Outage,
    run::{PHASES, SECONDS},
    table::percent,
};
use std::fmt::Write;

const COLUMNS: usize = 3;
const WIDTH: f64 = 252.0;
const HEIGHT: f64 = 84.0;
const LEFT: f64 = 46.0;
const GAP: f64 = 34.0;
const TOP: f64 = 88.0;
const ROW: f64 = 144.0;

const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#1f2328}
.title{font-size:16px;font-weight:600}
.name{font-weight:600}
.muted{fill:#59636e;font-size:11px}
.paper{fill:#ffffff}
.grid{stroke:#d1d9e0;fill:none}
.offered{stroke:#1f2328;stroke-dasharray:3 3;fill:none}
.down{fill:#cf222e;opacity:.16}
.half{fill:#bf8700;opacity:.2}
.back{fill:#bf8700;opacity:.09}
.others{fill:#6e7781;stroke:#6e7781}
.ours{fill:#0969da;stroke:#0969da}
.area{fill-opacity:.45;stroke-width:1.2;stroke-linejoin:round}
@media(prefers-color-scheme:dark){
text{fill:#f0f6fc}.muted{fill:#9198a1}.paper{fill:#0d1117}.grid{stroke:#3d444d}.offered{stroke:#f0f6fc}
.down{fill:#f85149;opacity:.28}.half{fill:#d29922;opacity:.28}.back{fill:#d29922;opacity:.13}
.others{fill:#9198a1;stroke:#9198a1}.ours{fill:#4493f8;stroke:#4493f8}}";

/// The data and labels of a plot.
struct Plot {
    title: &'static str,
    subtitle: &'static str,
    highest: f64,
    marks: &'static [(f64, &'static str)],
    /// The offered load, if the plot shows it.
    offered: Option<f64>,
    values: fn(&Outage) -> &[f64],
    note: fn(&Outage) -> String,
}

/// The load on the server.
pub(super) fn load(measured: &[Measured]) -> String {
    Plot {
        title: "Load on the server in an outage",
        subtitle: "Attempts in each second, as a multiple of the calls (dashed). At the right: the mean of seconds 20 to 100.",
        highest: 4.0,
        marks: &[
            (0.0, "0"),
            (1.0, "1×"),
            (2.0, "2×"),
            (3.0, "3×"),
            (4.0, "4×"),
        ],
        offered: Some(1.0),
        values: |outage| &outage.load_by_second,
        note: |outage| format!("{:.2}×", outage.mean_load),
    }
    .draw(measured)
}

/// The share of the calls that succeeded.
pub(super) fn success(measured: &[Measured]) -> String {
    Plot {
        title: "Calls that succeed in an outage",
        subtitle: "By the second in which the call began. At the right: of all calls.",
        highest: 1.0,
        marks: &[(0.0, "0"), (0.5, "50 %"), (1.0, "100 %")],
        offered: None,
        values: |outage| &outage.success_by_second,
        note: |outage| percent(outage.success),
    }
    .draw(measured)
}

impl Plot {
    fn draw(&self, measured: &[Measured]) -> String {
        let rows = measured.len().div_ceil(COLUMNS);
        let width = LEFT + (WIDTH + GAP) * count(COLUMNS) - GAP + 22.0;
        let height = TOP + ROW * count(rows);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\">\n\
             <title>{}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
             <text class=\"title\" x=\"{LEFT}\" y=\"24\">{}</text>\n\
             <text class=\"muted\" x=\"{LEFT}\" y=\"42\">{}</text>\n",
            self.title, self.title, self.subtitle
        );
        for (at, measured) in measured.iter().enumerate() {
            let left = LEFT + (WIDTH + GAP) * count(at % COLUMNS);
            let top = TOP + ROW * count(at / COLUMNS);
            let _ = writeln!(svg, "<g transform=\"translate({left} {top})\">");
            self.panel(&mut svg, measured, at);
            svg.push_str("</g>\n");
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn panel(&self, svg: &mut String, measured: &Measured, at: usize) {
        let Measured {
            strategy, outage, ..
        } = measured;
        let _ = writeln!(
            svg,
            "<text class=\"name\" y=\"-19\">{}</text><text class=\"muted\" x=\"{WIDTH}\" y=\"-19\" text-anchor=\"end\">{}</text>",
            strategy.name(),
            (self.note)(outage)
        );
        let [fails, half, returns, back] = PHASES.map(second);
        let phases = [
            ("down", "down", fails, half),
            ("half", "half", half, returns),
            ("back", "back", returns, back),
        ];
        for (class, _, from, to) in phases {
            let wide = to - from;
            let _ = writeln!(
                svg,
                "<rect class=\"{class}\" x=\"{from:.1}\" width=\"{wide:.1}\" height=\"{HEIGHT}\"/>"
            );
        }
        for (value, label) in self.marks {
            let y = self.y(*value);
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M0 {y:.1}H{WIDTH}\"/>");
            if at.is_multiple_of(COLUMNS) {
                let _ = writeln!(
                    svg,
                    "<text class=\"muted\" x=\"-6\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                    y + 4.0
                );
            }
        }
        let class = if strategy.is_ours() { "ours" } else { "others" };
        let path = self.path((self.values)(outage));
        let _ = writeln!(svg, "<path class=\"area {class}\" d=\"{path}\"/>");
        if let Some(offered) = self.offered {
            let y = self.y(offered);
            let _ = writeln!(svg, "<path class=\"offered\" d=\"M0 {y:.1}H{WIDTH}\"/>");
        }
        for (_, label, from, to) in phases {
            let _ = writeln!(
                svg,
                "<text class=\"muted\" x=\"{:.1}\" y=\"-5\" text-anchor=\"middle\">{label}</text>",
                f64::midpoint(from, to)
            );
        }
        for at in (0..=SECONDS).step_by(50) {
            let _ = writeln!(
                svg,
                "<text class=\"muted\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{at} s</text>",
                second(at),
                HEIGHT + 14.0
            );
        }
    }

    /// A step for each second, down to the axis.
    fn path(&self, values: &[f64]) -> String {
        let mut path = format!("M0 {HEIGHT}");
        for (at, value) in (1..).zip(values) {
            let _ = write!(
                path,
                "V{:.1}H{:.1}",
                self.y(value.min(self.highest)),
                second(at)
            );
        }
        let _ = write!(path, "V{HEIGHT}Z");
        path
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT * (1.0 - value / self.highest)
    }
}

fn second(at: u64) -> f64 {
    let share = |seconds| f64::from(u32::try_from(seconds).unwrap_or(u32::MAX));
    WIDTH * share(at) / share(SECONDS)
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
