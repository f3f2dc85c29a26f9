/**
 * Stack traces of a build name the lines of its sources. Node does that too (`--enable-source-maps`), but reads every map
 * at the start: a tenth of a server's start and 10 MB. Here a map is read when a trace runs through its file.
 */
import { realpathSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isSingleFile, moduleUrl, readModuleMap } from '../src/program-files/index.ts';

const build = isSingleFile ? moduleUrl('') : pathToFileURL(path.dirname(realpathSync(process.argv[1] ?? '.'))).href;
const PLACE = /(file:[^()]*\.js):(\d+):(\d+)/;

Error.prepareStackTrace = (error, sites) =>
  [formatTitle(error), ...sites.map((site) => `    at ${inSources(String(site))}`)].join('\n');

/** Formats the title of an error as Node does. */
function formatTitle(error: Error & { code?: unknown }): string {
  const title = Error.prototype.toString.call(error);
  const { name, code } = error;
  return typeof code === 'string' && code.startsWith('ERR_') ? title.replace(name, `${name} [${code}]`) : title;
}

function inSources(site: string): string {
  const [place, url = '', line, column] = PLACE.exec(site) ?? [];
  if (place === undefined || !url.startsWith(build)) return site;
  const source = findSource(url, Number(line), Number(column));
  return source === undefined ? site : site.replace(place, () => source);
}

const maps = new Map<string, SourceMap | undefined>();

function findSource(url: string, line: number, column: number): string | undefined {
  if (!maps.has(url)) maps.set(url, readMap(url));
  const origin = maps.get(url)?.findOrigin(line, column);
  if (!origin || !('fileName' in origin)) return undefined;
  return `${new URL(origin.fileName, url).href}:${origin.lineNumber}:${origin.columnNumber}`;
}

function readMap(url: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readModuleMap(url)) as SourceMapPayload);
  } catch {
    return undefined;
  }
}
