import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number }; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
}

const TOP = 28;

/** Returns the functions with the most own time, for every profile below a folder. */
export function readProfiles(folder: string): string {
  if (!existsSync(folder)) return `no profiles in ${folder}`;
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.cpuprofile'),
  );
  return files
    .map(
      (name) => `${name}\n${formatSummary(JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as CpuProfile)}\n`,
    )
    .join('\n');
}

function formatSummary({ nodes, samples, timeDeltas }: CpuProfile): string {
  const names = new Map(nodes.map((node) => [node.id, formatName(node.callFrame)]));
  const self = new Map<string, number>();
  let all = 0;
  samples.forEach((id, i) => {
    const name = names.get(id) ?? '?';
    const micros = timeDeltas[i] ?? 0;
    if (name === '(idle)') return;
    all += micros;
    self.set(name, (self.get(name) ?? 0) + micros);
  });
  const top = [...self].sort((a, b) => b[1] - a[1]).slice(0, TOP);
  const lines = top.map(([name, micros]) => `  ${((micros / all) * 100).toFixed(1).padStart(5)} %  ${name}`);
  return [`  ${(all / 1e6).toFixed(1)} s busy`, ...lines].join('\n');
}

const root = fileURLToPath(new URL('../../', import.meta.url));

function formatName({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  if (url === '') return functionName === '' ? '(anonymous)' : functionName;
  const file = url.startsWith('file:') ? path.relative(root, fileURLToPath(url)) : url.replace(root, '');
  return `${functionName === '' ? '(anonymous)' : functionName} ${file}:${lineNumber + 1}`;
}
