import { isUuid } from '../../../src/platform/ids.ts';
import type { AnyBody, ApiAnswer, ApiCall } from '../../rig/api.ts';
import type { Scene, Team } from '../../rig/scene.ts';

/** Makes a call and returns its log entry, found by the id of its answer. */
export async function logged(
  scene: Scene,
  team: Team,
  method: string,
  path: string,
  call: Omit<ApiCall, 'key'> & { key?: string } = {},
): Promise<{ answer: ApiAnswer; log: AnyBody }> {
  const answer = await scene.api(method, path, { key: team.key, ...call });
  const { body: log } = await scene.api('GET', `/logs/${readRequestId(answer)}`, { key: team.key });
  return { answer, log };
}

export function readRequestId(answer: ApiAnswer): string {
  const id = answer.headers.get('x-request-id') ?? '';
  if (!isUuid(id) || id[14] !== '7') throw new Error(`x-request-id is ${id}, not a UUIDv7`);
  return id;
}

/** Returns every row as text, as somebody who reads the database would see it. */
export async function everythingStored(scene: Scene): Promise<string> {
  const team = await scene.team();
  await scene.api('GET', '/logs', { key: team.key });
  return JSON.stringify(await scene.app.world.db.all('select * from request_logs'));
}
