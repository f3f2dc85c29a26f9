import { createHash } from 'node:crypto';
import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import type { FilledCall, HeldFile, ProposedCall } from '../approvals/index.ts';
import { readAttachments, type DraftAttachment } from '../../../mail/emails/index.ts';
import { fetchAttachments } from '../../../mail/accept/index.ts';

type Written = Parameters<typeof readAttachments>[0][number];

/** A file in a body, and where it stands there. */
interface Place {
  file: Written & { path: string };
  field: string;
  fill(content: DraftAttachment): void;
}

/** Throws what the call itself would be refused with where a file cannot be had. */
export async function fetchFilesOf({ store, whenGone }: Ctx<World>, call: ProposedCall): Promise<FilledCall> {
  const body = structuredClone(call.body);
  const places = placesIn(body);
  if (places.length === 0) return { files: [], call };
  const attachments = places.flatMap(({ file }) => readAttachments([file]));
  for (const [i, attachment] of attachments.entries()) attachment.field = places[i]?.field ?? attachment.field;
  await fetchAttachments(store, [{ attachments }], whenGone);
  const files = attachments.map(({ content }, i): HeldFile => {
    const { file, field } = places[i] as Place;
    return { field, url: file.path, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') };
  });
  for (const [i, attachment] of attachments.entries()) places[i]?.fill(attachment);
  return { files, call: { ...call, body } };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Of one mail, or of each of a batch. */
function placesIn(body: unknown): Place[] {
  const mails: readonly (readonly [at: string, mail: unknown])[] = Array.isArray(body)
    ? (body as unknown[]).map((mail, i) => [`${i}.`, mail] as const)
    : [['', body]];
  return mails.flatMap(([at, mail]) => {
    const attachments = isObject(mail) ? mail['attachments'] : undefined;
    if (!Array.isArray(attachments)) return [];
    return (attachments as unknown[]).flatMap((file, i): Place[] => {
      if (!isObject(file) || typeof file['path'] !== 'string') return [];
      const fill = ({ content, contentType }: DraftAttachment): void => {
        delete file['path'];
        Object.assign(file, { content: content.toString('base64'), content_type: contentType });
      };
      return [{ file: { ...file } as Place['file'], field: `${at}attachments.${i}`, fill }];
    });
  });
}
