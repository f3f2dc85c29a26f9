import fs from 'node:fs';
import path from 'node:path';
import { listFiles, type Problem } from './tree.ts';

/** The pages that readers navigate by; a page that does not exist yet is nobody's broken promise. */
export const pages = [
  ...['README.md', 'src/README.md', 'src/flows.md', 'test/README.md', 'migrations/README.md'],
  ...['api', 'audience', 'automations', 'benchmarks', 'command-line', 'console', 'domains', 'inbox', 'operating'].map(
    inDocs,
  ),
  ...['people', 'monitoring', 'postgres', 'receiving', 'security', 'smtp', 'webhooks'].map(inDocs),
];

function inDocs(name: string): string {
  return `docs/${name}.md`;
}

export function findDeadCitations(root: string): Problem[] {
  const files = listFiles(root);
  return pages
    .filter((page) => fs.existsSync(path.join(root, page)))
    .flatMap((page) => {
      const text = fs.readFileSync(path.join(root, page), 'utf8');
      return cited(text)
        .filter((target) => !isThere(root, files, path.dirname(page), target))
        .map((target) => ({ at: page, says: `cites ${target}, which does not exist. Correct the path, or the tree.` }));
    });
}

const extension = /\.(ts|tsx|js|cjs|json|md|toml|yaml|sh|service)$/;

// In backticks, a path is what has a slash and looks like one; in [text](target), it is every target without a scheme.
function cited(markdown: string): string[] {
  const ticked = [...markdown.matchAll(/`([^`\s]+)`/g)].map((match) => match[1] ?? '');
  const linked = [...markdown.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
  const paths = ticked.filter(
    (token) => /^(\.{0,2}\/)?[\w.@<>{}*,-]+(\/[\w.@<>{}*,-]*)+$/.test(token) && !token.startsWith('/'),
  );
  const links = linked.filter((token) => !/^([a-z]+:|#)/i.test(token)).map((token) => token.replace(/#.*$/, ''));
  return [...new Set([...paths, ...links])];
}

function isThere(root: string, files: string[], folder: string, target: string): boolean {
  const starts = [...new Set(['.', folder])].map((start) => path.posix.normalize(path.posix.join(start, target)));
  // Pages for users name zones and programs with a slash: there, what begins with a folder of the first level is a path.
  const known = folder === 'docs' ? starts.slice(0, 1) : starts;
  const isOurs =
    extension.test(target) || known.some((start) => fs.existsSync(path.join(root, start.split('/')[0] ?? start)));
  // `text/html`, `mail/queue` and the like are words with a slash, not paths of this tree.
  if (!isOurs) return true;
  const made = starts.some((start) => /^(node_modules|data|coverage|dist|\.cache)(\/|$)/.test(start));
  if (made) return true;
  return starts.some((start) => {
    const pattern = patternOf(start);
    return files.some((file) => pattern.test(file));
  });
}

// `src/resources/<family>/`, `*.store.ts` and `cli/{client,output}` stand for several files; one of them has to be there.
function patternOf(start: string): RegExp {
  const source = start
    .replace(/\/$/, '')
    .replace(/[.+?^$()|[\]\\]/g, '\\$&')
    .replace(/\{([^}]*)\}/g, (_, names: string) => `(${names.replaceAll(',', '|')})`)
    .replace(/<[^>]*>|\*+/g, '[^/]*');
  return new RegExp(`^${source}(/|$)`);
}
