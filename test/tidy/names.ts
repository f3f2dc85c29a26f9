import { entriesOf, listFiles, type Problem } from './tree.ts';

export function findUnusualCase(root: string): Problem[] {
  return listFiles(root)
    .filter((file) => /^(bin|src|cli|console|migrations|test)\/.*\.tsx?$/.test(file))
    .filter((file) => !/^migrations\/\d{4}_[a-z0-9_]+\.ts$/.test(file))
    .flatMap((file) => {
      const name = file.split('/').at(-1) ?? file;
      if (/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9-]+)*\.tsx?$/.test(name)) return [];
      return [{ at: file, says: 'file names are kebab-case, as in rotate-secret.ts.' }];
    });
}

/** A test that vitest.config.ts matches to no project never runs, and nobody notices. */
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

const topLevel = new Set([
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'vitest.config.ts', 'oxlint.config.ts'],
  ...['README.md', 'CHANGELOG.md', 'LICENSE', 'install.sh'],
  ...['bin', 'src', 'cli', 'console', 'migrations', 'config', 'systemd', 'monitoring', 'packaging', 'test', 'docs'],
  ...['node_modules', 'data', 'coverage', 'dist'],
]);

export function findTopLevelStrangers(root: string): Problem[] {
  return (entriesOf(root, '.') ?? [])
    .filter((name) => !name.startsWith('.') && !name.endsWith('.log') && !topLevel.has(name))
    .map((name) => ({
      at: name,
      says: 'is no part of the layout. The folders of the first level are fixed; src/README.md says what goes where.',
    }));
}
