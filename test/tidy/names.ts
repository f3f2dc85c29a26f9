import { listFiles, type Problem } from './tree.ts';

/** Finds tests that vitest.config.ts matches to no project: they never run, and nobody notices. */
export function findTestsNobodyRuns(root: string): Problem[] {
  return listFiles(root)
    .filter((file) => /\.(test|spec)\.[cm]?[jt]sx?$/.test(file))
    .flatMap((file) => {
      if (/^test\/bench\//.test(file))
        return [{ at: file, says: 'test/bench holds measurements, which npm test does not run.' }];
      if (/^(bin|src|cli|console|migrations|test)\/.*\.test\.tsx?$/.test(file)) return [];
      return [
        {
          at: file,
          says: 'no project of vitest.config.ts runs it. Call it <name>.test.ts under src, cli, console or test.',
        },
      ];
    });
}
