import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { addressContract, loadContract } from '../../../src/contract/index.ts';
import { contractOperations } from '../../rig/api.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

describe('the description of the API', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ roles: ['http'] });
  });
  afterAll(() => scene.close());

  it('is the contract with the address of the server at GET /openapi.json', async () => {
    const { status, body, headers } = await scene.api('GET', '/openapi.json');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(body).toEqual(
      JSON.parse(JSON.stringify(addressContract(loadContract(), { origin: scene.url, isDevelopment: false }))),
    );
    expect(body).toMatchObject({ openapi: '3.1.0', info: { version: '1.0.0' } });
    expect(body.servers).toHaveLength(2);
    for (const { operation } of contractOperations()) {
      expect(operation).toHaveProperty('x-service-permission');
      expect(operation).toHaveProperty('x-service-scope');
      expect(operation).toHaveProperty('x-service-role');
    }
  });

  it('lists the playground in development only, and /audiences as a deprecated name of /segments', async () => {
    const { paths } = (await scene.api('GET', '/openapi.json')).body;
    expect(Object.keys(paths).filter((path) => path.startsWith('/playground'))).toEqual([]);
    for (const [path, id] of [
      ['', 'listAudiences'],
      ['/{segment}', 'getAudience'],
    ] as const) {
      const { get: former } = paths[`/audiences${path}`];
      expect(former).toMatchObject({ deprecated: true, operationId: id });
      expect(former.responses).toEqual(paths[`/segments${path}`].get.responses);
    }
    const ids = Object.values(paths as Record<string, Record<string, { operationId?: string }>>)
      .flatMap((item) => Object.values(item))
      .flatMap(({ operationId }) => operationId ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    await using development = await startScene({ profile: 'development', roles: ['http'] });
    const { paths: all } = (await development.api('GET', '/openapi.json')).body;
    expect(Object.keys(all).filter((path) => path.startsWith('/playground'))).toEqual(['/playground/messages']);
  });

  it('is the same in YAML without anchors at GET /openapi.yaml', async () => {
    const { text, headers } = await scene.api('GET', '/openapi.yaml');
    expect(headers.get('content-type')).toBe('application/yaml; charset=utf-8');
    expect(parse(text)).toEqual((await scene.api('GET', '/openapi.json')).body);
    expect(text).not.toMatch(/: [&*]\w/);
  });

  it('is a page with one script of ours at GET /docs, which loads nothing from elsewhere', async () => {
    const { text, headers } = await scene.api('GET', '/docs');
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    const [inline] = [...text.matchAll(/<script>([\s\S]*?)<\/script>/g)].map((match) => match[1] ?? '');
    const hash = createHash('sha256')
      .update(inline ?? '')
      .digest('base64');
    expect(headers.get('content-security-policy')).toContain(`script-src 'self' 'sha256-${hash}';`);
    expect(headers.get('content-security-policy')).toContain("connect-src 'self'");
    expect(text).not.toMatch(/https?:\/\//);
    const [, src] = /<script src="([^"]+)"/.exec(text) ?? [];
    const script = await scene.api('GET', src ?? '');
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(script.text).toContain('createApiReference');
  });

  it('says for every operation who may call it, and has a row for every error', () => {
    const { info, 'x-errors': errors } = loadContract();
    for (const { operation } of contractOperations()) expect(operation.description).toMatch(/\n\nNeeds .*\.$/);
    for (const { name, status } of errors) expect(info.description).toContain(`| \`${name}\` | ${status} |`);
  });

  it('is served with nosniff, like every other answer', async () => {
    for (const path of ['/docs', '/openapi.json', '/openapi.yaml', '/health', '/nothing', '/emails']) {
      expect((await scene.api('GET', path)).headers.get('x-content-type-options'), path).toBe('nosniff');
    }
  });

  it('is the same bytes at each read', async () => {
    for (const path of ['/openapi.json', '/openapi.yaml', '/docs']) {
      expect((await scene.api('GET', path)).text).toBe((await scene.api('GET', path)).text);
    }
  });
});
