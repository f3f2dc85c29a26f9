import { nextTurn } from '../../platform/clock/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { ContentCheck } from '../../protocol/content-checks/index.ts';
import { declaredProperties, type PropertyRow } from '../contact-properties/index.ts';
import { findTeam, type TeamRow } from '../teams/index.ts';
import type { BroadcastContent } from './broadcasts.store.ts';
import { runChecks } from './checks.ts';
import { composeBodies, sourceOf, type Bodies, type Source } from './freeze-broadcast.ts';

type Written = Pick<BroadcastContent, 'subject' | 'preview_text' | 'html' | 'text' | 'template_id'>;

/** All that checks and bodies are made from. */
interface Inputs {
  written: Pick<Written, 'subject' | 'preview_text'>;
  source: Source;
  team: TeamRow;
  properties: readonly PropertyRow[];
}

/** What a send needs of the content; it takes up to seconds for the largest bodies. */
export interface PreparedContent {
  inputs: Inputs;
  checks: ContentCheck[];
  bodies: Bodies;
}

/** Undefined where there is no body. */
export async function prepareContent(db: Executor, teamId: string, row: Written): Promise<PreparedContent | undefined> {
  const source = await sourceOf(db, { ...row, team_id: teamId });
  return source && prepareFrom(db, teamId, { row, source });
}

async function prepareFrom(
  db: Executor,
  teamId: string,
  { row, source }: { row: Written; source: Source },
): Promise<PreparedContent> {
  const inputs = await inputsFor(db, teamId, { row, source });
  const checks = runChecks(inputs);
  await nextTurn();
  const bodies = composeBodies(source, { previewText: row.preview_text, ...inputs });
  return { inputs, checks, bodies };
}

/** What was prepared before the transaction, if it still holds there; otherwise the content was changed meanwhile and is prepared anew. */
export async function stillPrepared(
  tx: Executor,
  teamId: string,
  { row, source, before }: { row: Written; source: Source; before: PreparedContent | undefined },
): Promise<PreparedContent> {
  const now = await inputsFor(tx, teamId, { row, source });
  return before && isSame(before.inputs, now) ? before : prepareFrom(tx, teamId, { row, source });
}

async function inputsFor(
  db: Executor,
  teamId: string,
  { row, source }: { row: Written; source: Source },
): Promise<Inputs> {
  const team = await findTeam(db, teamId);
  if (!team) throw new Error(`the team ${teamId} of a broadcast is gone`);
  const { subject, preview_text } = row;
  return { written: { subject, preview_text }, source, team, properties: await declaredProperties(db, teamId) };
}

/** A published version never changes, and is known by its id. */
function isSame(a: Inputs, b: Inputs): boolean {
  const { name, sender_name, postal_address } = a.team;
  return (
    a.written.subject === b.written.subject &&
    a.written.preview_text === b.written.preview_text &&
    a.source.template?.versionId === b.source.template?.versionId &&
    a.source.html === b.source.html &&
    a.source.text === b.source.text &&
    name === b.team.name &&
    sender_name === b.team.sender_name &&
    postal_address === b.team.postal_address &&
    JSON.stringify(a.properties) === JSON.stringify(b.properties)
  );
}
