// Runs what docs/testing.md tells people to put into their CI, as it is written, as far as no container is needed.
import fs from 'node:fs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../rig/free-port.ts';
import { Desk, root, type Ended } from './desk.ts';

const PAGE = fs.readFileSync(`${root}/docs/testing.md`, 'utf8');
const CONTAINERFILE = fs.readFileSync(`${root}/packaging/Containerfile`, 'utf8');

const blocks = (language: string): string[] =>
  [...PAGE.matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
    .filter(([, name]) => name === language)
    .map(([, , text = '']) => text);

interface Job {
  env: Record<string, string>;
  services?: Record<string, Service & { options: string }>;
  steps: { name?: string; run?: string }[];
}

interface Service {
  image?: string;
  build?: { dockerfile: string; target: string };
  command?: string[];
  env?: Record<string, string>;
  environment?: Record<string, string>;
  ports?: string[];
  healthcheck?: { test: string[] };
}

const parsed = blocks('yaml').map(
  (text) => parse(text) as { jobs?: { test: Job }; services?: Record<string, Service> },
);
const jobs = parsed.flatMap(({ jobs: all }) => (all ? [all.test] : []));
const compose = parsed.find(({ services }) => services)?.services ?? {};

/** A stage of the Containerfile: its words by instruction, with those of the stages that it is made from. */
function stage(name: string): Map<string, string> {
  const text = CONTAINERFILE.split(/^(?=FROM )/m).find((one) => one.split('\n', 1)[0]?.endsWith(` AS ${name}`)) ?? '';
  const base = /^FROM (\S+) AS/.exec(text)?.[1] ?? '';
  const own = [...text.matchAll(/^([A-Z]+) ((?:.*\\\n)*.*)$/gm)].map(
    ([, word = '', rest = '']) => [word, rest] as const,
  );
  return new Map([...(base.includes('/') || base === '' ? [] : stage(base)), ...own]);
}

let desk: Desk;
let env: Record<string, string>;
let port: number;
beforeEach(async () => {
  desk = new Desk();
  port = await freePort();
  env = { ...(await desk.database()), RASKET_HTTP_PORT: `${port}`, RASKET_INSTANCE_HOST: 'localhost' };
  const [test = ''] = blocks('js');
  expect(test).toMatch(/^\/\/ email\.test\.mjs\n/);
  desk.write('email.test.mjs', test);
  // The second checkout, or the submodule.
  fs.symlinkSync(root, desk.at('rasket'));
});
afterEach(() => desk.clear());

const passed = (ended: Ended): void => {
  expect(ended, ended.stdout + ended.stderr).toMatchObject({ code: 0 });
  expect(ended.stdout).toMatch(/pass 2\b/);
};

it('the GitHub Actions job in the docs passes with a checkout', async () => {
  const [job] = jobs.filter(({ services }) => !services);
  const given = {
    ...env,
    ...allMoved(job?.env ?? {}, '127.0.0.1'),
    RUNNER_TEMP: desk.at('temp'),
    RASKET_DATA: undefined,
  };
  fs.mkdirSync(desk.at('temp'));
  const steps = job?.steps.flatMap(({ run }) => (run === undefined ? [] : [run])) ?? [];
  expect(steps).toHaveLength(2);
  try {
    const outcomes: Ended[] = [];
    for (const step of steps) outcomes.push(await desk.start('/bin/bash', ['-ec', step], { env: given }).ended);
    expect(outcomes[0]).toMatchObject({ code: 0 });
    passed(outcomes[1] as Ended);
  } finally {
    const { pid } = JSON.parse(fs.readFileSync(desk.at('temp/rasket/run/ready.json'), 'utf8')) as { pid: number };
    process.kill(pid, 'SIGTERM');
    await expect.poll(() => isGone(pid)).toBe(true);
  }
});

it('the containers of the docker-compose and GitHub Actions examples start with one command, and the tests in the docs pass', async () => {
  const { rasket, test } = compose;
  const development = stage('development');
  expect(rasket?.build).toMatchObject({ dockerfile: 'packaging/Containerfile', target: 'development' });
  const command = JSON.parse(development.get('CMD') ?? '[]') as string[];
  expect(rasket?.command).toEqual(command);
  const service = jobs.find(({ services }) => services)?.services?.['rasket'];
  expect(service?.env).toEqual({ RASKET_DEV_API_KEY: rasket?.environment?.['RASKET_DEV_API_KEY'] });
  const exposed = development.get('EXPOSE')?.split(' ');
  for (const published of [...(rasket?.ports ?? []), ...(service?.ports ?? [])]) {
    expect(exposed).toContain(published.split(':').at(-1));
  }

  // All addresses of this machine but for another one of loopback: nobody else is let in by a test.
  const words = command.map((word) => (word === '0.0.0.0' ? '127.0.0.2' : word));
  expect(words).not.toEqual(command);
  const settings = { ...allMoved(rasket?.environment ?? {}, '127.0.0.2'), ...env };
  const server = await desk.serve([...words, '--data', 'dev'], { env: settings });
  await vi.waitFor(() => expect(server.stdout).toContain('Ctrl-C stops it'));
  expect(server.stdout).toMatch(/WARNING {2}Listening on 127\.0\.0\.2 for any host name/);
  passed(
    await desk.start(process.execPath, (test as Service & { command: string[] }).command.slice(1), {
      env: allMoved(test?.environment ?? {}, '127.0.0.2'),
    }).ended,
  );

  // The request uses the name that the other containers know the server by, which this machine does not.
  const messages = `http://127.0.0.2:${port}/playground/messages`;
  const byName = await desk.start('curl', ['--silent', '--fail', '--header', `Host: rasket:${port}`, messages]).ended;
  expect(byName).toMatchObject({ code: 0, stdout: expect.stringContaining('"object":"list"') as string });

  const checks = [
    rasket?.healthcheck?.test.slice(1) ?? [],
    /--health-cmd "([^"]+)"/.exec(service?.options ?? '')?.[1]?.split(' ') ?? [],
    JSON.parse(/CMD (\[.*\])$/.exec(development.get('HEALTHCHECK') ?? '')?.[1] ?? '[]') as string[],
  ];
  for (const check of checks) {
    expect(check[0]).toMatch(/rasket$/);
    expect((await desk.rasket(check.slice(1).map((word) => moved(word, '127.0.0.2')))).code).toBe(0);
  }
  await server.stop();
});

it('the Containerfile builds the production image by default', () => {
  const last = /^FROM \S+ AS (\w+)$/gm;
  const names = [...CONTAINERFILE.matchAll(last)].map(([, name]) => name);
  expect(names).toEqual(['base', 'development', 'production']);
  expect(stage('production').get('CMD')).toBe('["serve"]');
  expect(stage('development').get('VOLUME')).toBeUndefined();
});

/** Replaces the port 3000 with the port of this test, and the host with the one that the server is at. */
const moved = (text: string, host: string): string =>
  text.replace(/http:\/\/(127\.0\.0\.1|rasket):3000/, `http://${host}:${port}`);
const allMoved = (values: Record<string, string>, host: string): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, moved(value, host)]));

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return fs.readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return true;
  }
}
