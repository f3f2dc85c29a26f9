import fs from 'node:fs';
import path from 'node:path';
import { readSources, type Problem, type SourceFile } from './tree.ts';

/** Files that may know their own place: the layer made for that, builds, and what runs in a checkout only. */
const BY_THEMSELVES: RegExp[] = [
  /^src\/program-files\//,
  // This package is loaded late; the single file has a module in its place (packaging/modules.ts).
  /^src\/platform\/fetch\/undici\.ts$/,
  // These run in a checkout only, where the contract is YAML and the sources are built or compiled as they are read.
  /^src\/contract\/(generate|load|read-sources)\.ts$/,
  /^bin\/(build|build-plugins)\.ts$/,
  /^cli\/commands\/load-tsx\.ts$/,
];

const isProgram = (file: string): boolean =>
  /^(bin|src|cli|console)\/.*\.tsx?$/.test(file) && !/\.(test|test-helper|gen)\.tsx?$/.test(file);

const findProblems = (files: readonly SourceFile[], pattern: RegExp, says: (found: string) => string): Problem[] =>
  files.flatMap(({ path: at, text }) =>
    text.split('\n').flatMap((line, n) => {
      const found = /^\s*(\/\/|\*|\/\*)/.test(line) ? null : pattern.exec(line);
      return found ? [{ at: `${at}:${n + 1}`, says: says(found[1] ?? found[0]) }] : [];
    }),
  );

/** Finds reads of files around src/program-files: the single file has no folder next to a module, and no thread starts at a path. */
export function findFilesReadAround(root: string): Problem[] {
  const files = readSources(root, isProgram).filter(({ path: at }) => !BY_THEMSELVES.some((one) => one.test(at)));
  return findProblems(
    files,
    /new Worker\(|\bimport\.meta\.(?:dirname|filename|url)\b|\b__(?:dirname|filename)\b/,
    (found) =>
      `${found} finds nothing in the single file. Start threads by startThread, and read files by readProgramFile or namesIn, of src/program-files.`,
  );
}

/** Finds files that are missing in the single file, which contains by name what is started or read by its name. */
export function findFilesNotPacked(root: string): Problem[] {
  const files = readSources(root, isProgram);
  const packed = (name: string): string => {
    const file = path.join(root, 'packaging', name);
    return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  };
  const modules = packed('modules.ts');
  const assets = packed('build-file.ts');
  return [
    ...findProblems(files, /'(src\/[\w/-]+-thread\.ts)'/, (found) => found).filter(
      ({ says }) => !modules.includes(`'${says}'`),
    ),
    ...findProblems(files, /\b(?:readProgramFile|readProgramText|namesIn)\(['"`]([\w./-]+)/, (found) => found).filter(
      ({ says }) => !assets.includes(says.replace(/\/$/, '')),
    ),
  ].map(({ at, says }) => ({
    at,
    says: `${says} is not a part of the single file. Name it in packaging/modules.ts, or as an asset in packaging/build-file.ts.`,
  }));
}
