// Clients that three generators make of the server's own /openapi.json, compiled under --strict together with code that uses them.
// The generators are no dependencies of the project: .ci/run installs them into .cache/generators by the lock file in generators/.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../rig/scene.ts';

const run = promisify(execFile);
const folder = path.resolve(import.meta.dirname, '../../.cache/generators');
const modules = path.join(folder, 'node_modules');
const isInstalled = existsSync(path.join(modules, 'orval'));

/** The arguments of each generator, and code that uses its output: each line below @ts-expect-error must be refused. */
const GENERATORS = [
  {
    name: 'openapi-typescript',
    call: ['openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'client.d.ts'],
    use: `
      import type { components, paths, webhooks } from './client.d.ts';
      type Sent = webhooks['email.bounced']['post']['requestBody']['content']['application/json'];
      export const kindOf = ({ data }: Sent): 'Permanent' | 'Transient' | 'Undetermined' => data.bounce.type;
      // @ts-expect-error A bounce tells of no click.
      export const clickOf = ({ data }: Sent) => data.click;
      export const body: paths['/emails']['post']['requestBody']['content']['application/json'] = {
        from: 'a@example.com', to: ['b@example.org'], subject: 'x', attachments: [{ filename: 'a', content: [104, 105] }],
      };
      type Payload = components['schemas']['WebhookPayload'];
      export const linkOf = (event: Payload): string | undefined =>
        event.type === 'email.clicked' && 'click' in event.data ? event.data.click.link : undefined;`,
  },
  {
    name: '@hey-api/openapi-ts',
    call: ['@hey-api/openapi-ts/bin/run.js', '-i', 'openapi.json', '-o', 'client', '-c', '@hey-api/client-fetch'],
    use: `
      import { sendEmail } from './client/sdk.gen';
      import type { EmailBouncedEvent } from './client/types.gen';
      export const kindOf = ({ data }: EmailBouncedEvent): 'Permanent' | 'Transient' | 'Undetermined' => data.bounce.type;
      // @ts-expect-error A bounce tells of no click.
      export const clickOf = ({ data }: EmailBouncedEvent) => data.click;
      export const send = () => sendEmail({ body: { from: 'a@example.com', to: 'b@example.org', subject: 'x', text: 'x' } });`,
  },
  {
    name: 'orval',
    call: ['orval/dist/bin/orval.mjs', '--input', 'openapi.json', '--output', 'client.ts', '--client', 'fetch'],
    use: `
      import { sendEmail, type EmailBouncedEvent } from './client';
      export const kindOf = ({ data }: EmailBouncedEvent): 'Permanent' | 'Transient' | 'Undetermined' => data.bounce.type;
      // @ts-expect-error A bounce tells of no click.
      export const clickOf = ({ data }: EmailBouncedEvent) => data.click;
      export const send = () => sendEmail({ from: 'a@example.com', to: 'b@example.org', subject: 'x', text: 'x' });`,
  },
];

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: 'es2023',
    module: 'esnext',
    moduleResolution: 'bundler',
    allowImportingTsExtensions: true,
    lib: ['es2023', 'dom', 'dom.iterable'],
    types: [],
  },
  include: ['.'],
};

// skipped where the generators are not installed; RASKET_TEST_PEERS=required insists on them
describe.skipIf(!isInstalled && process.env.RASKET_TEST_PEERS !== 'required')(
  'for clients generated from /openapi.json,',
  () => {
    let scene: Scene;
    let document: string;
    beforeAll(async () => {
      scene = await startScene({ roles: ['http'] });
      document = JSON.stringify((await scene.api('GET', '/openapi.json')).body);
    });
    afterAll(() => scene.close());

    it('the document names the server it comes from', () => {
      const { servers } = JSON.parse(document) as { servers: { url: string }[] };
      expect(servers.map(({ url }) => url)).toEqual([scene.url, `${scene.url}/api/v1`]);
    });

    it.each(GENERATORS)(
      'the code of $name compiles under --strict',
      async ({ name, call: [program = '', ...args], use }) => {
        const made = path.join(folder, name.replaceAll(/\W/g, '-'));
        rmSync(made, { recursive: true, force: true });
        mkdirSync(made, { recursive: true });
        writeFileSync(path.join(made, 'openapi.json'), document);
        await run(process.execPath, [path.join(modules, program), ...args], { cwd: made });
        writeFileSync(path.join(made, 'use.ts'), use);
        writeFileSync(path.join(made, 'tsconfig.json'), JSON.stringify(TSCONFIG));
        const tsc = path.join(modules, 'typescript/bin/tsc');
        const compiled = run(process.execPath, [tsc, '-p', made]).catch((error: { stdout: string }) => error);
        expect((await compiled).stdout).toBe('');
      },
      300_000,
    );
  },
);
