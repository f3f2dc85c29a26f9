import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { readSources, type Problem, type SourceFile } from './tree.ts';

const LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;

/** The functions that are longer than allowed as a whole and known; their length may only fall. */
export const ledger = 'test/tidy/long-functions.json';

export function findLongFiles(root: string): Problem[] {
  return readSources(root).flatMap(({ path: at, text }) => {
    const lines = text.trimEnd().split('\n');
    const reason = /^\/\/ Over 400 lines because .{20,}/.test(lines[0] ?? '');
    if (lines.length <= LINES_MAX || reason) return [];
    return [
      {
        at,
        says:
          `has ${lines.length} lines; ${LINES_MAX} is the limit. Ask which second concept is in here and give it its own file, ` +
          'or let line 1 say why not: `// Over 400 lines because …`.',
      },
    ];
  });
}

/**
 * A function has its own lines and, with those of the functions inside it, its whole length: a factory of short closures is
 * read as one piece, because they share its variables. Its own lines are never too many; whole, the known ones only shrink.
 */
export function findLongFunctions(root: string): Problem[] {
  const at = path.join(root, ledger);
  const known: Record<string, number> = fs.existsSync(at) ? JSON.parse(fs.readFileSync(at, 'utf8')) : {};
  const long = readSources(root).flatMap(longFunctions);
  const dense = long.flatMap(({ name, own }) => {
    if (own <= FUNCTION_LINES_MAX) return [];
    const says = `has ${own} lines of its own; ${FUNCTION_LINES_MAX} is the limit. Name its steps and make them functions.`;
    return [{ at: name, says }];
  });
  const grown = long.flatMap(({ name, whole }) => {
    const limit = known[name] ?? FUNCTION_LINES_MAX;
    if (whole <= limit) return [];
    const says = `has ${whole} lines with the functions inside it; ${limit} is the limit. Move some of them out, with what they need as parameters.`;
    return [{ at: name, says }];
  });
  const shrunk = Object.entries(known).flatMap(([name, limit]) => {
    const lines = Math.max(0, ...long.filter((found) => found.name === name).map(({ whole }) => whole));
    if (lines >= limit) return [];
    const right = lines > FUNCTION_LINES_MAX ? `Write ${lines} there` : 'Remove its line';
    return [
      { at: name, says: `is shorter than ${ledger} says (${limit}). ${right}: the list only ever gets shorter.` },
    ];
  });
  return [...dense, ...grown, ...shrunk];
}

interface LongFunction {
  name: string;
  own: number;
  whole: number;
}

function longFunctions({ path: at, text }: SourceFile): LongFunction[] {
  // A file that is short enough as a whole needs no parsing.
  if (text.split('\n').length <= FUNCTION_LINES_MAX) return [];
  const source = ts.createSourceFile(at, text, ts.ScriptTarget.Latest, true);
  const found: LongFunction[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body && !isTestBlock(node)) {
      const whole = linesOf(source, node);
      if (whole > FUNCTION_LINES_MAX) {
        found.push({ name: `${at}#${nameOf(node)}`, own: whole - nestedLines(source, node), whole });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

// The callback of describe(), describePeers() and the like is a chapter, not a function.
function isTestBlock(node: ts.Node): boolean {
  return ts.isCallExpression(node.parent) && /^(describe|suite)/.test(node.parent.expression.getText());
}

function nameOf(node: ts.Node): string {
  const named = (node as { name?: ts.Node }).name ?? (node.parent as { name?: ts.Node } | undefined)?.name;
  if (named) return named.getText();
  return ts.isConstructorDeclaration(node) ? 'constructor' : 'unnamed';
}

function nestedLines(source: ts.SourceFile, node: ts.Node): number {
  let lines = 0;
  ts.forEachChild(node, (child) => {
    lines += ts.isFunctionLike(child) ? linesOf(source, child) - 1 : nestedLines(source, child);
  });
  return lines;
}

function linesOf(source: ts.SourceFile, node: ts.Node): number {
  return lineOf(source, node.getEnd()) - lineOf(source, node.getStart()) + 1;
}

function lineOf(source: ts.SourceFile, position: number): number {
  return source.getLineAndCharacterOfPosition(position).line;
}
