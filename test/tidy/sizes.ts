import fs from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { readSources, type Problem, type SourceFile } from './tree.ts';

const LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;

/** The functions that are longer than allowed and known; their length may only fall. */
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

/** A function's lines are its own: those of the functions inside it are theirs. */
export function findLongFunctions(root: string): Problem[] {
  const at = path.join(root, ledger);
  const known: Record<string, number> = fs.existsSync(at) ? JSON.parse(fs.readFileSync(at, 'utf8')) : {};
  const long = new Map(readSources(root).flatMap(longFunctions));
  const grown = [...long].flatMap(([name, lines]) => {
    const limit = known[name] ?? FUNCTION_LINES_MAX;
    if (lines <= limit) return [];
    return [{ at: name, says: `has ${lines} lines; ${limit} is the limit. Name its steps and make them functions.` }];
  });
  const shrunk = Object.entries(known).flatMap(([name, limit]) => {
    const lines = long.get(name) ?? 0;
    if (lines >= limit) return [];
    const right = lines > FUNCTION_LINES_MAX ? `Write ${lines} there` : 'Remove its line';
    return [
      { at: name, says: `is shorter than ${ledger} says (${limit}). ${right}: the list only ever gets shorter.` },
    ];
  });
  return [...grown, ...shrunk];
}

function longFunctions({ path: at, text }: SourceFile): [string, number][] {
  // A file that is short enough as a whole needs no parsing.
  if (text.split('\n').length <= FUNCTION_LINES_MAX) return [];
  const source = ts.createSourceFile(at, text, ts.ScriptTarget.Latest, true);
  const found: [string, number][] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body && !isTestBlock(node)) {
      const lines = linesOf(source, node) - nestedLines(source, node);
      if (lines > FUNCTION_LINES_MAX) found.push([`${at}#${nameOf(node)}`, lines]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

// The callback of describe() is a chapter, not a function.
function isTestBlock(node: ts.Node): boolean {
  return ts.isCallExpression(node.parent) && /^(describe|suite)\b/.test(node.parent.expression.getText());
}

function nameOf(node: ts.Node): string {
  const named = (node as { name?: ts.Node }).name ?? (node.parent as { name?: ts.Node } | undefined)?.name;
  if (named) return named.getText();
  return ts.isConstructorDeclaration(node) ? 'constructor' : 'unnamed';
}

// A function made of named steps is as readable as its steps, each of which is measured by itself.
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
