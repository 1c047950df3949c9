// Compares two runs of the suite: compare.mjs BARE WRAPPED, each a directory of REVISION/SCENARIO-TIME/checks.json,
// where the name of a scenario may hold a slash.
// Prints both, and exits with 1 if WRAPPED passes less than BARE, or if BARE passed nothing.
//
// Each request for a token has checks of its own. How many there are depends on the client, so in the scenarios of
// authorization a check counts once.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const list = (directory) => {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
};

// The directories with a result, by their paths in this one.
const runs = (directory) =>
  list(directory).flatMap((name) => {
    const path = join(directory, name);
    return existsSync(join(path, 'checks.json')) ? [name] : runs(path).map((run) => `${name}/${run}`);
  });

// How often each check ended in which status: {'REVISION SCENARIO': {'CHECK': {SUCCESS: 1}}}.
const read = (directory) => {
  const scenarios = {};
  for (const revision of list(directory)) {
    for (const run of runs(join(directory, revision))) {
      const path = join(directory, revision, run, 'checks.json');
      const name = run.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
      const checks = (scenarios[`${revision} ${name}`] ??= {});
      for (const { id, status } of JSON.parse(readFileSync(path))) {
        const statuses = (checks[id] ??= {});
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    }
  }
  return scenarios;
};

const count = (checks, status) => Object.values(checks ?? {}).reduce((sum, statuses) => sum + (statuses[status] ?? 0), 0);
const told = (checks) => `${count(checks, 'SUCCESS')} passed, ${count(checks, 'FAILURE')} failed`;

const [bare, wrapped] = process.argv.slice(2, 4).map(read);
const losses = [];
for (const [scenario, checks] of Object.entries(bare)) {
  console.log(`${scenario}: bare ${told(checks)}; wrapped ${told(wrapped[scenario])}`);
  for (const [id, statuses] of Object.entries(checks)) {
    const others = wrapped[scenario]?.[id] ?? {};
    const needed = / auth\//.test(scenario) ? Math.min(statuses.SUCCESS ?? 0, 1) : (statuses.SUCCESS ?? 0);
    const passes = (others.SUCCESS ?? 0) >= needed;
    const fails = (others.FAILURE ?? 0) > (statuses.FAILURE ?? 0);
    if (!passes || fails) {
      losses.push(`${scenario}: ${id}: bare ${JSON.stringify(statuses)}, wrapped ${JSON.stringify(others)}`);
    }
  }
}

const revisions = new Set(Object.keys(bare).map((scenario) => scenario.split(' ')[0]));
for (const revision of revisions) {
  const of = (scenarios) => Object.entries(scenarios).filter(([name]) => name.startsWith(revision));
  const sum = (scenarios, status) => of(scenarios).reduce((all, [, checks]) => all + count(checks, status), 0);
  for (const [name, scenarios] of Object.entries({ bare, wrapped })) {
    console.log(`${revision}, ${name}: ${sum(scenarios, 'SUCCESS')} passed, ${sum(scenarios, 'FAILURE')} failed`);
  }
}
if (revisions.size < 2 || Object.values(bare).every((checks) => count(checks, 'SUCCESS') === 0)) {
  console.error('conformance: the suite did not run');
  process.exit(1);
}
if (losses.length > 0) {
  console.error(`conformance: the wrapped side passes less than the bare one:\n${losses.join('\n')}`);
  process.exit(1);
}
