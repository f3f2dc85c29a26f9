import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadContract } from '../../../src/contract/index.ts';
import { contractOperations } from '../../rig/api.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

describe('the description of the API', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ roles: ['http'] });
  });
  afterAll(() => scene.close());

  it('GET /openapi.json is the contract itself', async () => {
    const { status, body, headers } = await scene.api('GET', '/openapi.json');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(body).toEqual(JSON.parse(JSON.stringify(loadContract())));
    expect(body).toMatchObject({ openapi: '3.1.0', info: { version: '1.0.0' } });
    expect(body.servers).toHaveLength(2);
    for (const { operation } of contractOperations()) {
      expect(operation).toHaveProperty('x-service-permission');
      expect(operation).toHaveProperty('x-service-scope');
    }
  });

  it('GET /openapi.yaml says the same in YAML, without anchors', async () => {
    const { text, headers } = await scene.api('GET', '/openapi.yaml');
    expect(headers.get('content-type')).toBe('application/yaml; charset=utf-8');
    expect(parse(text)).toEqual((await scene.api('GET', '/openapi.json')).body);
    expect(text).not.toMatch(/: [&*]\w/);
  });

  it('GET /docs is a page that runs no script, loads nothing and names every operation', async () => {
    const { text, headers } = await scene.api('GET', '/docs');
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
    expect(text).not.toMatch(/<script|\son\w+=|javascript:|<iframe|<object|<embed|@import|url\(/i);
    expect(text).not.toMatch(/<(?:img|link|source|video|audio)\b/i);
    for (const { operationId, path } of contractOperations()) {
      expect(text).toContain(`id="${operationId}"`);
      expect(text.replaceAll('<wbr>', '')).toContain(path);
    }
  });

  it('no answer may be read as another type than it says', async () => {
    for (const path of ['/docs', '/openapi.json', '/openapi.yaml', '/health', '/nothing', '/emails']) {
      expect((await scene.api('GET', path)).headers.get('x-content-type-options'), path).toBe('nosniff');
    }
  });

  it('repeated reads give the same bytes', async () => {
    for (const path of ['/openapi.json', '/openapi.yaml', '/docs']) {
      expect((await scene.api('GET', path)).text).toBe((await scene.api('GET', path)).text);
    }
  });
});
