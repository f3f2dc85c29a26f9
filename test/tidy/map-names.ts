import fs from 'node:fs';
import path from 'node:path';
import type { Problem } from './tree.ts';

/** The pages that lead through the code; they name functions together with their files. */
const MAPS = ['src/README.md', 'src/flows.md'];
/** On this page a file name without a folder stands beside the path before it in the same step, or is one of `src/` itself. */
const WITH_BARE_NAMES = 'src/flows.md';

const TICKED = /`([^`\s]+)`/g;
const IS_FILE = /^[\w./-]+\.(?:ts|tsx|yaml|toml)$/;
/** `name` (`file`), and `name` of `file`. */
const NAMED_WITH_FILE = /`([A-Za-z_$][\w$]*)` (?:\(|of )$/;

/** Names of files and functions that are not where the map says. What a page says beyond these two forms is not read. */
export function findNamesOutOfPlace(root: string): Problem[] {
  return MAPS.filter((page) => fs.existsSync(path.join(root, page))).flatMap((page) =>
    stepsOf(fs.readFileSync(path.join(root, page), 'utf8')).flatMap(({ line, text }) =>
      faultsOf(root, page, text).map((says) => ({ at: `${page}:${line}`, says })),
    ),
  );
}

/** A paragraph, a row of a table, or an item of an outer list with all that is indented below it. */
function stepsOf(markdown: string): { line: number; text: string }[] {
  const steps: { line: number; text: string }[] = [];
  let isOpen = false;
  for (const [index, text] of markdown.split('\n').entries()) {
    const step = steps.at(-1);
    if (step && isOpen && !/^(?:[-*|#]|\d+\.)/.test(text)) step.text += `\n${text}`;
    else steps.push({ line: index + 1, text });
    isOpen = text.trim() !== '';
  }
  return steps;
}

function faultsOf(root: string, page: string, step: string): string[] {
  const faults: string[] = [];
  let folder: string | undefined;
  for (const match of step.matchAll(TICKED)) {
    const token = match[1] ?? '';
    const isBare = !token.includes('/');
    if (!IS_FILE.test(token) && !/^[^<>]+\/$/.test(token)) continue;
    if (isBare && page !== WITH_BARE_NAMES) continue;
    const home = path.posix.dirname(page);
    const places = isBare ? [...(folder === undefined ? [] : [folder]), home] : [home, '.'];
    const file = places.map((place) => path.posix.join(place, token)).find((at) => fs.existsSync(path.join(root, at)));
    if (file === undefined) {
      const where = isBare && folder !== undefined ? ` in ${folder}/` : '';
      faults.push(`names ${token}, which does not exist${where}. Correct the name, or write the whole path.`);
      continue;
    }
    // A file of `src/` itself that is named in passing leaves the folder as it was.
    if (!isBare) folder = token.endsWith('/') ? file.replace(/\/$/, '') : path.posix.dirname(file);
    const [, name] = NAMED_WITH_FILE.exec(step.slice(0, match.index).replaceAll(/\s+/g, ' ')) ?? [];
    if (name === undefined || token.endsWith('/')) continue;
    const names = new Set(fs.readFileSync(path.join(root, file), 'utf8').match(/[\w$]+/g));
    if (names.has(name)) continue;
    faults.push(`names ${name} of ${file}, where there is no such name. Correct the name, or the file.`);
  }
  return faults;
}
