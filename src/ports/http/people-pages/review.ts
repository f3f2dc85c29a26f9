import type { BodyOf } from '../../../contract/index.ts';
import { readReviewedBroadcast, type ReviewedBroadcast } from '../../../features/sharing/index.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { bdi } from '../layout/index.ts';
import { afterFault, attempt, renderAlert, renderForm, renderLink, renderLinks } from './elements.ts';
import type { Fields, PeoplePage, Shown } from './page.ts';

const PATH = '/review';

/** Takes the decision of a reader of a link to the page of a broadcast. It needs no account, only the link. */
export const reviewPage: PeoplePage = {
  path: PATH,
  get: async ({ store }, { query }) => showReview(await readReviewedBroadcast(store, query.get('token') ?? ''), query),
  async post({ store, call }, { form }) {
    const token = form.get('token') ?? '';
    const reviewed = await readReviewedBroadcast(store, token);
    if (!reviewed) return showReview(reviewed, form);
    const note = form.get('note') ?? '';
    const body = {
      decision: form.get('decision') ?? '',
      name: form.get('name') ?? '',
      note: note.trim() === '' ? null : note.replaceAll('\r\n', '\n'),
      version: form.get('version') ?? '',
    } as BodyOf<'reviewSharedBroadcast'>;
    const done = await attempt(call('reviewSharedBroadcast', { path: { token }, body }));
    return done instanceof Refusal ? showReview(reviewed, form, done) : { to: `/preview/${encodeURIComponent(token)}` };
  },
};

function showReview(reviewed: ReviewedBroadcast | undefined, fields: Fields, fault?: Refusal): Shown {
  const token = fields.get('token') ?? '';
  const back = renderLinks(renderLink(`/preview/${encodeURIComponent(token)}`, 'Back to the page of the broadcast'));
  if (!reviewed) {
    return {
      title: 'This link does not work',
      content:
        '<p>It may have expired or been revoked, or it does not allow reviews. Ask the person who sent it to you for a new one.</p>',
      status: 404,
    };
  }
  const heading = `Review ${bdi(`“${reviewed.name}”`)}`;
  const title = `Review “${reviewed.name}”`;
  if (!reviewed.isReviewable) {
    const say = '<p>This broadcast is being sent or has ended, so it cannot be reviewed.</p>';
    return { title, heading, content: say + back, ...afterFault(fault) };
  }
  const version = fields.get('version') ?? '';
  if (version !== reviewed.version) {
    return {
      title,
      heading,
      content: `${renderAlert(CHANGED)}${back}`,
      ...afterFault(fault),
    };
  }
  const form = renderForm({
    action: PATH,
    decisions: {
      name: 'decision',
      choices: [
        { value: 'approved', label: 'Approve' },
        { value: 'changes_requested', label: 'Request changes', isSecond: true },
      ],
    },
    fields: [
      { name: 'name', label: 'Your name', autocomplete: 'name', value: fields.get('name') },
      {
        name: 'note',
        label: 'Note',
        type: 'textarea',
        autocomplete: 'off',
        value: fields.get('note'),
        hint: 'Say which changes you request. The team sees your name and the note.',
        isOptional: true,
      },
    ],
    hidden: { token, version },
    fault,
  });
  return { title, heading, content: `${form}${back}`, ...afterFault(fault) };
}

const CHANGED =
  'The broadcast was changed after you opened its page. Open the page again and review the current content.';
