import { expect } from 'vitest';
import { buildForm } from '../../rig/forms.ts';
import type { Scene, Team } from '../../rig/scene.ts';

export interface Imported {
  id: string;
  status: string;
  counts: Record<string, number>;
  failures: { row: number; reason: string; value: string | null }[];
  file: { encoding: string; delimiter: string };
}

export type Given = [team: Team, file: string | Uint8Array, fields?: Record<string, unknown>];

export const uploadIn = (scene: Scene, ...[team, file, fields = {}]: Given) =>
  scene.api('POST', '/contacts/imports', { key: team.key, ...buildForm(file, fields) });

/** Uploads a file, waits until it has been read, and returns the outcome. */
export async function importedIn(scene: Scene, ...given: Given): Promise<Imported> {
  const [{ key }] = given;
  const made = await uploadIn(scene, ...given);
  expect(made, made.text).toMatchObject({ status: 201, body: { object: 'contact_import' } });
  await scene.settled();
  const { body } = await scene.api('GET', `/contacts/imports/${made.body.id}`, { key });
  const failures = await scene.api('GET', `/contacts/imports/${made.body.id}/failures`, { key });
  return { ...body, failures: failures.body.data, file: failures.body.file };
}
