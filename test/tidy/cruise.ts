import { execFile } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { isSource, listFiles } from './tree.ts';

export type Cruise = { modules: number; files: number; violations: string[]; broken: Set<string> };

/** Checks the import directions of the tree under `root` and counts the modules it really read. */
export async function cruise(root: string): Promise<Cruise> {
  const files = listFiles(root).filter(isSource);
  const result = await runCruiser(root, files);
  const looked = new Set(result.modules.map((module) => module.source));
  return {
    modules: files.filter((file) => looked.has(file)).length,
    files: files.length,
    violations: result.summary.violations.map(describe),
    broken: new Set(result.summary.violations.map(({ rule }) => rule.name)),
  };
}

type Violation = { from: string; to: string; comment?: string; rule: { name: string }; cycle?: { name: string }[] };
type Report = { modules: { source: string }[]; summary: { violations: Violation[] } };

function describe({ from, to, rule, cycle, comment }: Violation): string {
  const way = cycle ? [from, ...cycle.map(({ name }) => name)].join(' → ') : `${from} → ${to}`;
  return `${rule.name}: ${way}\n    ${comment ?? ''}`;
}

function runCruiser(root: string, files: string[]): Promise<Report> {
  const packages = path.resolve(import.meta.dirname, '../../node_modules');
  const command = path.join(packages, 'dependency-cruiser/bin/dependency-cruiser.mjs');
  const config = path.join(root, '.dependency-cruiser.cjs');
  return new Promise((resolve, reject) => {
    const options = { cwd: root, maxBuffer: 256 * 1024 * 1024 };
    const output = ['--output-type', 'json', '--config', config];
    execFile(process.execPath, [command, ...output, ...files], options, (error, stdout, stderr) => {
      // The exit status counts violations, so that only unreadable output is a failure of the tool itself.
      try {
        const report = JSON.parse(stdout) as Report;
        resolve({ ...report, summary: { violations: withComments(report, config) } });
      } catch {
        reject(new Error(`dependency-cruiser gave no report: ${stderr || error?.message || stdout.slice(0, 400)}`));
      }
    });
  });
}

function withComments(report: Report, config: string): Violation[] {
  const { forbidden } = createRequire(import.meta.url)(config) as { forbidden: { name: string; comment: string }[] };
  const comments = new Map(forbidden.map(({ name, comment }) => [name, comment]));
  return report.summary.violations.map((violation) => ({
    ...violation,
    comment: comments.get(violation.rule.name) ?? '',
  }));
}

if (import.meta.main) {
  const root = path.resolve(import.meta.dirname, '../..');
  const { modules, files, violations } = await cruise(fs.realpathSync(root));
  for (const violation of violations) console.error(violation);
  // With an unsupported TypeScript version, dependency-cruiser reads nothing and reports success.
  if (modules === 0 || modules !== files) {
    console.error(`Only ${modules} of ${files} source files were looked into: the check itself is broken.`);
    process.exitCode = 1;
  }
  if (violations.length > 0) process.exitCode = 1;
  if (process.exitCode === undefined) console.log(`${modules} modules`);
}
