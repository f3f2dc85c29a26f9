import { readSources, type Problem } from './tree.ts';

const conditional = /\b(?:it|test|describe|suite)\b[\w.]*\.(skip|skipIf|runIf|todo|fails)\b/;
const fromContext = /(?:(?:^|[^.\w])|\b(?:ctx|context|task)\.)skip\(\s*(?:\)|[^'"`\s)])/;
const reason = /\/\/ (?:skipped|runs only) .{10,}/;

/** Finds skipped tests without a reason in the line itself or in the comment above it. */
export function findUnexplainedSkips(root: string): Problem[] {
  return readSources(root, (file) => /\.test\.tsx?$/.test(file)).flatMap(({ path: at, text }) => {
    const lines = text.split('\n');
    return lines.flatMap((line, index) => {
      const found = conditional.exec(line)?.[1] ?? (fromContext.test(line) ? 'skip' : undefined);
      if (!found || reason.test(line) || reason.test(lines[index - 1] ?? '')) return [];
      return [
        {
          at: `${at}:${index + 1}`,
          says: `.${found} without a reason. Write "// skipped because …" or "// runs only …" in the line above, or skip('the reason').`,
        },
      ];
    });
  });
}
