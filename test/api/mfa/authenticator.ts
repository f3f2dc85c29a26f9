import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { computeCode, fromBase32, stepAt } from '../../../src/protocol/totp.ts';
import { createUser } from '../../../src/tenancy/users/index.ts';
import type { ApiAnswer } from '../../rig/api.ts';
import { createApi } from '../../rig/api.ts';
import type { Scene, Team } from '../../rig/scene.ts';

export const PASSWORD = 'correct horse battery staple';
export const STEP_MS = 30_000;

/** A browser that keeps cookies, and sends the origin of its pages. */
export class Browser {
  readonly scene: Scene;
  readonly #api: ReturnType<typeof createApi> | undefined;
  readonly cookies = new Map<string, string>();
  origin: string | null;

  constructor(scene: Scene, url?: string) {
    this.scene = scene;
    this.#api = url === undefined ? undefined : createApi(url);
    this.origin = url ?? scene.url;
  }

  async call(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { origin: this.origin, ...(cookie === '' ? {} : { cookie }) };
    const api = this.#api ?? this.scene.api;
    const answer = await api(method, path, { headers, ...(body === undefined ? {} : { body }) });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }

  logIn = (email: string, password = PASSWORD) => this.call('POST', '/auth/login', { email, password });
}

let people = 0;

/** Creates a person with a password, in the team. */
export async function createPerson(scene: Scene, team?: Team): Promise<{ id: string; email: string }> {
  const { db, clock } = scene.app.world;
  const email = `person${++people}@mfa.example`;
  const { id } = await createUser(scene.app.world, { email, password: PASSWORD, isVerified: true });
  if (team) {
    const sql = "insert into team_members (id, team_id, user_id, role, created_at) values (?, ?, ?, 'owner', ?)";
    await db.run(sql, [randomUUID(), team.id, id, clock.now()]);
  }
  return { id, email };
}

export interface Enrolled {
  id: string;
  email: string;
  /** The signed-in browser in which it was switched on. */
  browser: Browser;
  recovery: string[];
  /** Returns the code of the app, that many steps from now. */
  code(steps?: number): string;
}

/** Creates a person whose second factor is on; the code of that step is used. */
export async function enrolled(scene: Scene, team?: Team): Promise<Enrolled> {
  const { id, email } = await createPerson(scene, team);
  const browser = new Browser(scene);
  expect((await browser.logIn(email)).status).toBe(200);
  const app = await setUp(browser);
  const answer = await browser.call('POST', '/auth/mfa/confirm', { code: app.code(), password: PASSWORD });
  expect(answer.status, answer.text).toBe(200);
  return { id, email, browser, recovery: answer.body.recovery_codes, code: app.code };
}

export async function setUp(browser: Browser): Promise<{ secret: string; code(steps?: number): string }> {
  const { status, body } = await browser.call('POST', '/auth/mfa/enrol');
  expect(status).toBe(200);
  const key = fromBase32(body.secret) ?? Buffer.alloc(0);
  const code = (steps = 0) => computeCode(key, stepAt(browser.scene.clock.now()) + steps);
  return { secret: body.secret, code };
}

/** Returns a code that is not valid at any time near. */
export function wrongCode({ code }: Pick<Enrolled, 'code'>): string {
  const right = new Set([-2, -1, 0, 1, 2].map((steps) => code(steps)));
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((one) => !right.has(one)) ?? '';
}
