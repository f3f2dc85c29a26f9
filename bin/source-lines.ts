/**
 * Stack traces of a build name the lines of its sources. Node does that too (`--enable-source-maps`), but reads every map
 * at the start: a tenth of a server's start and 10 MB. Here a map is read when a trace runs through its file.
 */
import { readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const build = pathToFileURL(path.dirname(realpathSync(process.argv[1] ?? '.'))).href;
const PLACE = /(file:[^()]*\.js):(\d+):(\d+)/;

Error.prepareStackTrace = (error, sites) =>
  [titleOf(error), ...sites.map((site) => `    at ${inSources(String(site))}`)].join('\n');

/** As Node writes it. */
function titleOf(error: Error & { code?: unknown }): string {
  const title = Error.prototype.toString.call(error);
  const { name, code } = error;
  return typeof code === 'string' && code.startsWith('ERR_') ? title.replace(name, `${name} [${code}]`) : title;
}

function inSources(site: string): string {
  const [place, url = '', line, column] = PLACE.exec(site) ?? [];
  if (place === undefined || !url.startsWith(build)) return site;
  const source = sourceOf(url, Number(line), Number(column));
  return source === undefined ? site : site.replace(place, () => source);
}

interface LineMap {
  sources: string[];
  /** For each line of the compiled file, places of its columns in ascending order. */
  lines: (readonly [column: number, source: number, line: number, sourceColumn: number])[][];
}

const maps = new Map<string, LineMap | undefined>();

function sourceOf(url: string, line: number, column: number): string | undefined {
  if (!maps.has(url)) maps.set(url, readMap(url));
  const map = maps.get(url);
  const found = map?.lines[line - 1]?.findLast(([from]) => from < column);
  if (!map || !found) return undefined;
  return `${new URL(map.sources[found[1]] ?? '', url).href}:${found[2] + 1}:${found[3] + 1}`;
}

function readMap(url: string): LineMap | undefined {
  try {
    const { sources, mappings } = JSON.parse(readFileSync(new URL(`${url}.map`), 'utf8')) as {
      sources: string[];
      mappings: string;
    };
    // All but the column goes on counting from one line to the next.
    let [source, line, column] = [0, 0, 0];
    const lines = mappings.split(';').map((text) => {
      let from = 0;
      return text.split(',').flatMap((segment) => {
        const [a, b, c, d] = readNumbers(segment);
        from += a ?? 0;
        if (b === undefined) return [];
        source += b;
        line += c ?? 0;
        column += d ?? 0;
        return [[from, source, line, column] as const];
      });
    });
    return { sources, lines };
  } catch {
    return undefined;
  }
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Base 64 VLQ: five bits a digit, the sixth says that more follow, the lowest of the number is its sign. */
function readNumbers(segment: string): number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value += (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}
