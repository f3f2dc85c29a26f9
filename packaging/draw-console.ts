/**
 * Draws docs/console.svg: starts a development server with sample data in a temporary folder, opens the console in tmux
 * and writes what the terminal shows as an SVG. Run it after the console has changed: `node packaging/draw-console.ts`.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const ROOT = path.resolve(import.meta.dirname, '..');
const PROGRAM = path.join(ROOT, 'bin/rasket');
const COLUMNS = 112;
const ROWS = 30;
const CELL_WIDTH = 8.4;
const CELL_HEIGHT = 18;
const PADDING = 14;
const KEY = 'rk_picture';
const START_MS_MAX = 60_000;

const BACKGROUND = '#16181d';
const FOREGROUND = '#d5d8df';
/** The sixteen colors of the terminal, in the order of their codes. */
const COLORS = [
  '#3b4048', '#e06c75', '#98c379', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', '#d5d8df',
  '#7f8694', '#ff8590', '#b5e890', '#ffd98a', '#82c4ff', '#dd97f0', '#7fd8e0', '#ffffff',
] as const; // prettier-ignore

interface Style {
  color: string | undefined;
  background: string | undefined;
  isBold: boolean;
  isDim: boolean;
  isUnderlined: boolean;
  isInverse: boolean;
}

const PLAIN: Style = {
  color: undefined,
  background: undefined,
  isBold: false,
  isDim: false,
  isUnderlined: false,
  isInverse: false,
};

const folder = mkdtempSync(path.join(os.tmpdir(), 'rasket-picture-'));
const data = path.join(folder, 'data');
const session = `rasket-picture-${process.pid}`;
const tmux = (...args: string[]): string => execFileSync('tmux', ['-L', session, ...args], { encoding: 'utf8' });

const port = await findFreePort();
const url = `http://127.0.0.1:${port}`;
const config = path.join(folder, 'rasket.toml');
writeFileSync(config, `[http]\nport = ${port}\n[submission]\nports = [0]\ntls_ports = [0]\n[receiving]\nports = [0]\n`);
const server = spawn('sh', [PROGRAM, 'dev', '--data', data, '--config', config], {
  cwd: folder,
  env: { ...process.env, RASKET_DEV_API_KEY: KEY },
  stdio: 'ignore',
});
try {
  await waitUntil(async () => (await fetch(`${url}/health`)).ok);
  execFileSync('sh', [PROGRAM, 'seed', '--data', data], { cwd: folder, stdio: 'ignore' });
  tmux(
    '-f',
    '/dev/null',
    'new-session',
    '-d',
    '-x',
    `${COLUMNS}`,
    '-y',
    `${ROWS}`,
    `RASKET_URL=${url} RASKET_API_KEY=${KEY} sh ${PROGRAM} console`,
  );
  tmux('set-option', '-g', 'default-terminal', 'xterm-256color');
  await waitUntil(() => tmux('capture-pane', '-p').includes('rasket'));
  tmux('send-keys', ...(process.argv[2] ?? '2').split(' '));
  let before = '';
  await waitUntil(() => {
    const now = tmux('capture-pane', '-p');
    const isSettled = now === before && !/loading/i.test(now);
    before = now;
    return isSettled;
  });
  writeFileSync(
    path.join(ROOT, 'docs/console.svg'),
    renderSvg(
      // The port of a server that is started as the README says.
      tmux('capture-pane', '-e', '-p').replace(url, 'http://127.0.0.1:3000'.padEnd(url.length)),
    ),
  );
} finally {
  try {
    tmux('kill-server');
  } catch {
    // It never started.
  }
  if (server.exitCode === null) {
    server.kill('SIGTERM');
    await once(server, 'exit');
  }
  rmSync(folder, { recursive: true, force: true });
}

async function findFreePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((done) => probe.listen(0, '127.0.0.1', done));
  const { port } = probe.address() as AddressInfo;
  await new Promise((done) => probe.close(done));
  return port;
}

async function waitUntil(isDone: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + START_MS_MAX;
  for (;;) {
    const done = await Promise.resolve()
      .then(isDone)
      .catch(() => false);
    if (done) return;
    if (Date.now() > end) throw new Error('the server or the console did not start in time');
    await wait(500);
  }
}

function renderSvg(screen: string): string {
  const width = COLUMNS * CELL_WIDTH + 2 * PADDING;
  const height = ROWS * CELL_HEIGHT + 2 * PADDING;
  const lines = screen.split('\n').slice(0, ROWS);
  const parts = lines.flatMap((line, row) => renderLine(line, PADDING + row * CELL_HEIGHT));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14">
<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>
${parts.join('\n')}
</svg>
`;
}

function renderLine(line: string, y: number): string[] {
  const parts: string[] = [];
  let style = PLAIN;
  let column = 0;
  for (const [, codes, text = ''] of line.matchAll(/\u001B\[([\d;]*)m|([^\u001B]+)/g)) {
    if (codes !== undefined) {
      style = applyCodes(style, codes);
      continue;
    }
    parts.push(...renderText(text, style, { x: PADDING + column * CELL_WIDTH, y }));
    column += [...text].length;
  }
  return parts;
}

function renderText(text: string, style: Style, { x, y }: { x: number; y: number }): string[] {
  const length = [...text].length;
  const width = (length * CELL_WIDTH).toFixed(1);
  const [color, background] = style.isInverse
    ? [style.background ?? BACKGROUND, style.color ?? FOREGROUND]
    : [style.color ?? FOREGROUND, style.background];
  const parts: string[] = [];
  if (background)
    parts.push(`<rect x="${x.toFixed(1)}" y="${y}" width="${width}" height="${CELL_HEIGHT}" fill="${background}"/>`);
  if (text.trim() === '') return parts;
  const look = [
    `fill="${color}"`,
    style.isBold && 'font-weight="bold"',
    style.isDim && 'opacity="0.6"',
    style.isUnderlined && 'text-decoration="underline"',
  ].filter(Boolean);
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  parts.push(
    `<text x="${x.toFixed(1)}" y="${y + 13.5}" textLength="${width}" xml:space="preserve" ${look.join(' ')}>${escaped}</text>`,
  );
  return parts;
}

/** Applies the codes of one SGR sequence. */
function applyCodes(style: Style, codes: string): Style {
  const next = { ...style };
  const numbers = codes.split(';').map(Number);
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at] ?? 0;
    if (code === 0) Object.assign(next, PLAIN);
    else if (code === 1) next.isBold = true;
    else if (code === 2) next.isDim = true;
    else if (code === 4) next.isUnderlined = true;
    else if (code === 7) next.isInverse = true;
    else if (code === 22) Object.assign(next, { isBold: false, isDim: false });
    else if (code === 24) next.isUnderlined = false;
    else if (code === 27) next.isInverse = false;
    else if (code >= 30 && code <= 37) next.color = COLORS[code - 30];
    else if (code === 39) next.color = undefined;
    else if (code >= 40 && code <= 47) next.background = COLORS[code - 40];
    else if (code === 49) next.background = undefined;
    else if (code >= 90 && code <= 97) next.color = COLORS[code - 82];
    else if (code >= 100 && code <= 107) next.background = COLORS[code - 92];
    else if (code === 38 || code === 48) {
      const [color, used] = readExtendedColor(numbers.slice(at + 1));
      next[code === 38 ? 'color' : 'background'] = color;
      at += used;
    }
  }
  return next;
}

/** Reads `5;n` (256 colors) or `2;r;g;b`; returns the color and how many numbers it takes. */
function readExtendedColor([kind, ...values]: number[]): [string | undefined, number] {
  if (kind === 2) return [`rgb(${values.slice(0, 3).join(',')})`, 4];
  const index = values[0] ?? 0;
  if (index < 16) return [COLORS[index], 2];
  if (index >= 232) {
    const level = 8 + (index - 232) * 10;
    return [`rgb(${level},${level},${level})`, 2];
  }
  const channel = (value: number): number => (value === 0 ? 0 : 55 + value * 40);
  const cube = index - 16;
  return [`rgb(${channel(Math.floor(cube / 36))},${channel(Math.floor(cube / 6) % 6)},${channel(cube % 6)})`, 2];
}
