import ts from 'typescript';
import { readSources, type Problem, type SourceFile } from './tree.ts';

/** Words that are not plain English, with what to write instead. Each has a plainer replacement in every sentence. */
const UNPLAIN: readonly (readonly [word: string, instead: string])[] = [
  ['whoever|whomever|whosoever|whom', 'name the person or program that does it'],
  ['wherein|whereof|whereby|thereof|therein|thereupon', 'begin a sentence of its own'],
  ['(?:is|are|was|were|be|been) told', 'is notified of, gets, sees'],
  ['let(?:s|ting)? in', 'authorize, allow'],
  ['shut out', 'disable, block'],
  ['(?:give|gives|given|gave|giving) back', 'return, release'],
  ['(?:hold|holds|held) back', 'hold, pause'],
  ['beside', 'next to, in addition to'],
  ['strangers?', 'untrusted sender, unauthenticated client'],
  ['at the most', 'at most'],
  ['what (?:becomes|became|comes|came) of', 'what happens to, the outcome of'],
  ['unless said otherwise', 'by default'],
  ['anew', 'again'],
];

const words = UNPLAIN.map(([word]) => `(${word.replaceAll(' ', String.raw`\s+`)})`);
const unplain = new RegExp(String.raw`\b(?:${words.join('|')})\b`, 'gi');

/** Files that are prose as a whole: the API descriptions, from which help, forms and tools are made, and the guides. */
const prose = /^(?:src\/contract\/[^/]+\.yaml|docs\/[^/]+\.md|README\.md)$/;
/** Programs that show text: the command line, the console and the web pages. */
const program =
  /^(?:cli|console|src\/ports\/http\/(?:[\w-]+-pages?|layout|oauth))\/.*\.tsx?$|^src\/ports\/http\/[\w-]*page\.ts$/;

/** Finds words that are not plain English in what users read. */
export function findUnplainWords(root: string): Problem[] {
  const isRead = (file: string): boolean => prose.test(file) || (program.test(file) && !/\.test\.tsx?$/.test(file));
  return readSources(root, isRead)
    .filter(({ text }) => text.search(unplain) !== -1)
    .flatMap((file) => {
      const texts = prose.test(file.path) ? [{ start: 0, text: file.text }] : shownTexts(file);
      return texts.flatMap(({ start, text }) =>
        [...text.matchAll(unplain)].map((match) => ({
          at: `${file.path}:${lineAt(file.text, start + match.index)}`,
          says: `"${match[0].replaceAll(/\s+/g, ' ')}" is not plain English; write: ${chooseReplacement(match)}.`,
        })),
      );
    });
}

/** Returns the texts in a program with their positions. A single word is skipped, because it is a name or a path. */
function shownTexts({ path: name, text }: SourceFile): { start: number; text: string }[] {
  const found: { start: number; text: string }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node) || ts.isJsxText(node)) {
      const raw = node.getText(source);
      if (raw.includes(' ')) found.push({ start: node.getStart(source), text: raw });
    }
    ts.forEachChild(node, visit);
  };
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, false);
  visit(source);
  return found;
}

const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length;

function chooseReplacement([, ...groups]: RegExpExecArray): string {
  const [, instead = ''] = UNPLAIN[groups.findIndex((group) => group !== undefined)] ?? [];
  return instead;
}
