import path from 'node:path';
import { isHostFree, runHosted } from './command-host.ts';
import { canBeHosted, canRunInProcess, runInProcess, type Around, type Ended } from './in-process.ts';

export interface Part {
  text: string;
  /** The words without their quotes; undefined where a shell does more than split the line into words. */
  words: string[] | undefined;
}

const TOKENS = /'[^']*'|"[^"]*"|\\.|&&|[|;&<>`$(){}*]|\s+|[^\s'"\\|;&<>`$(){}*]+/g;

/** Pipelines, of which one is run when the one before has succeeded; undefined for a line that has more than that. */
export function readLine(line: string): Part[][] | undefined {
  const pipelines: Part[][] = [[{ text: '', words: [] }]];
  const tokens = line.match(TOKENS) ?? [];
  if (tokens.join('') !== line) return undefined;
  let isInWord = false;
  for (const token of tokens) {
    const part = pipelines.at(-1)?.at(-1);
    if (!part || token === ';' || token === '&') return undefined;
    if (token === '|') pipelines.at(-1)?.push({ text: '', words: [] });
    else if (token === '&&') pipelines.push([{ text: '', words: [] }]);
    else {
      part.text += token;
      if (/^[<>`$(){}*]|^".*[`$\\]/s.test(token)) part.words = undefined;
      else if (/^\s/.test(token)) isInWord = false;
      else if (part.words) {
        const text = token.replace(/^(['"])(.*)\1$/s, '$2').replace(/^\\/, '');
        if (isInWord) part.words.push(`${part.words.pop()}${text}`);
        else part.words.push(text);
        isInWord = true;
      }
    }
    if (token === '|' || token === '&&') isInWord = false;
  }
  return pipelines;
}

interface Call {
  words: string[];
  env: Record<string, string>;
  columns?: number;
  /** Runs it in the host, where it has a process to itself while it runs. */
  isHosted: boolean;
}

/** `NAME=value rasket …`, with `at-80` in front of it at a terminal of 80 columns; undefined where that needs a process. */
function readCall({ words = [] }: Part): Call | undefined {
  const first = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  const env = Object.fromEntries(words.slice(0, Math.max(first, 0)).map((word) => word.split(/=(.*)/s)));
  const [name = '', ...rest] = words.slice(first);
  const columns = /^at-(\d+)$/.exec(name)?.[1];
  if (columns !== undefined && rest.shift() !== 'rasket') return undefined;
  if (columns === undefined && name !== 'rasket') return undefined;
  // The time zone is one for the whole process.
  const isHosted = 'TZ' in env || !canRunInProcess(rest);
  const isServer = ['dev', 'serve'].includes(rest[0] ?? '');
  if (isHosted && (columns !== undefined || isServer || !canBeHosted(rest))) return undefined;
  return {
    words: rest,
    isHosted,
    env: { ...env, ...(columns === undefined ? {} : { NO_COLOR: '1' }) },
    ...(columns === undefined ? {} : { columns: Number(columns) }),
  };
}

/** A reader that leaves before it was told everything: what a command does then is a matter of real pipes. */
const leavesEarly = ({ text }: Part): boolean => /^\s*true\s*$/.test(text);

export interface Shell extends Omit<Around, 'columns' | 'input'> {
  input?: string | undefined;
  /** Runs a part of a line, or all of it, in a real shell. */
  byShell(line: string, around: { cwd: string; input?: string | undefined }): Promise<Ended>;
}

/** Runs a line as a shell would, with its commands of ours in this process. */
export async function runLine(line: string, { env, cwd, byShell, input }: Shell): Promise<Ended> {
  const pipelines = readLine(line);
  if (!pipelines || pipelines.flat().some(leavesEarly)) return byShell(line, { cwd, input });
  const ended: Ended = { stdout: '', stderr: '', code: 0 };
  let folder = cwd;
  for (const parts of pipelines) {
    const [first] = parts;
    if (first?.words?.[0] === 'cd') {
      folder = path.resolve(folder, first.words[1] ?? '');
      continue;
    }
    const last = await runPipeline(parts, { env, cwd: folder, byShell, input });
    ended.stdout += last.stdout;
    ended.stderr += last.stderr;
    ended.code = last.code;
    if (last.code !== 0) break;
  }
  return ended;
}

/** Nothing here takes two minutes; what does, hangs. */
const PATIENCE_MS = 120_000;

async function runPipeline(parts: readonly Part[], { env, cwd, byShell, input }: Shell): Promise<Ended> {
  let last: Ended = { stdout: input ?? '', stderr: '', code: 0 };
  for (const [at, part] of parts.entries()) {
    const call = readCall(part);
    const given = at === 0 ? input : last.stdout;
    const around = { env: { ...env, ...call?.env }, cwd, input: given };
    const isPossible = call && (!call.isHosted || (given === undefined && isHostFree(around)));
    const ended = isPossible ? await runCall(call, around) : await byShell(part.text, { cwd, input: given });
    last = { ...ended, stderr: last.stderr + ended.stderr };
  }
  return last;
}

async function runCall({ words, columns, isHosted }: Call, around: Around): Promise<Ended> {
  if (isHosted) return runHosted({ words, env: around.env, cwd: around.cwd }, PATIENCE_MS);
  const { shown, ...ended } = await runInProcess(words, { ...around, columns });
  if (columns === undefined) return ended;
  return { stdout: shown.replaceAll('\r', ''), stderr: '', code: 0 };
}
