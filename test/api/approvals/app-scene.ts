import fs from 'node:fs';
import { expect } from 'vitest';
import { SCOPE_NAMES } from '../../../src/contract/index.ts';
import { runInProcess } from '../../cli/in-process.ts';
import type { ApiAnswer } from '../../rig/api.ts';
import { createOauth, type OauthApp } from '../../rig/oauth.ts';
import type { PageSeen } from '../../rig/page-visitor.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import { startScene, type Scene, type SceneOptions } from '../../rig/scene.ts';
import { scratchFolder } from '../../rig/scratch.ts';
import { openDesk, type Desk } from '../broadcasts/drafting.ts';

type Limits = Readonly<Record<string, string>>;

/** A team with an app, and a person who limits the app and decides on its calls. */
export interface AppScene {
  scene: Scene;
  desk: Desk;
  people: People;
  oauth: ReturnType<typeof createOauth>;
  app: OauthApp;
  owner: Person;
  call(
    key: string,
    method: string,
    path: string,
    body?: object,
    headers?: Readonly<Record<string, string>>,
  ): Promise<ApiAnswer>;
  /** Authorizes an app with all scopes and these limits, or with this rule for approvals; returns its token. */
  tokenFor(limits: Limits | string, by?: { app?: OauthApp; person?: Person }): Promise<string>;
  /** Makes a call that has to wait, and returns the id of its approval. */
  held(token: string, method: string, path: string, body?: object): Promise<string>;
  fetchApproval(id: string): Promise<ApiAnswer['body']>;
  approve(id: string, person?: Person): Promise<ApiAnswer>;
  openPage(id: string, person?: Person): Promise<PageSeen>;
  /** Returns what `rasket approvals` prints. */
  printAtTerminal(...words: string[]): Promise<string>;
  close(): Promise<void>;
}

export async function startAppScene(options: SceneOptions = {}): Promise<AppScene> {
  const scene = await startScene(options);
  const desk = await openDesk(scene);
  const oauth = createOauth(scene);
  const app = await oauth.register();
  const people = createPeople(scene);
  const owner = await people.person({ team: desk.team, role: 'owner', email: `owner@${desk.domain.name}` });
  const home = scratchFolder('rasket-approvals-');
  const call: AppScene['call'] = (key, method, path, body, headers = {}) =>
    scene.api(method, path, { key, headers: { ...headers }, ...(body === undefined ? {} : { body }) });
  return {
    scene,
    desk,
    people,
    oauth,
    app,
    owner,
    call,
    async tokenFor(limits, { app: asking = app, person = owner } = {}) {
      const chosen = typeof limits === 'string' ? { approval: limits } : limits;
      return (await oauth.letIn(person, asking, { scope: SCOPE_NAMES.join(' ') }, chosen)).access_token;
    },
    async held(token, method, path, body = {}) {
      const { status, body: refusal, text } = await call(token, method, path, body);
      expect([status, refusal.name, refusal.details?.approval_id], text).toEqual([
        403,
        'invalid_permission',
        expect.any(String),
      ]);
      return refusal.details.approval_id;
    },
    fetchApproval: async (id) => (await desk.call('GET', `/approvals/${id}`)).body,
    approve: (id, person = owner) => person.call('POST', `/approvals/${id}/approve`, {}),
    openPage: (id, person = owner) => oauth.visitorOf(person).open(`/account/approvals/one?id=${id}`),
    async printAtTerminal(...words) {
      const env = { HOME: home, RASKET_API_KEY: desk.team.key, RASKET_URL: scene.url };
      const { stdout, stderr } = await runInProcess(['approvals', ...words], { env, cwd: home });
      expect(stderr).toBe('');
      return stdout;
    },
    async close() {
      fs.rmSync(home, { recursive: true, force: true });
      await scene.close();
    },
  };
}
