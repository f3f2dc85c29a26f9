import { Refusal } from '../../../platform/refusal/index.ts';
import { lookAtInvitation, type ShownInvitation } from '../../../features/identity/invitations/index.ts';
import { bdi } from '../layout/index.ts';
import { afterFault, attempt, renderAlert, renderForm, renderLink, renderLinks } from './elements.ts';
import { forgetToken, keptToken, takeToken } from './link-token.ts';
import { deadLink, newPasswordField } from './mailed.ts';
import { withNext } from './own-path.ts';
import type { LedTo, PageCtx, PeoplePage, Shown } from './page.ts';

const PATH = '/invitation';

/** The token shows that the mail arrived, so that its holder may read who invites, where, and to what. */
export const invitationPage: PeoplePage = {
  path: PATH,
  async get(ctx, visit) {
    const led = takeToken(ctx, visit, 'invitation', PATH);
    return led ?? show(ctx, keptToken(ctx, 'invitation'), {});
  },
  async post(ctx, { form }) {
    const token = form.get('token') ?? '';
    if (ctx.session) return accept(ctx, token);
    const name = form.get('name') ?? '';
    const body = { token, password: form.get('password') ?? '', name: name.trim() === '' ? null : name };
    const done = await attempt(ctx.call('signUpByInvitation', { body }));
    if (done instanceof Refusal) return show(ctx, token, { name, fault: done });
    forgetToken(ctx, 'invitation');
    return { to: '/account?said=joined' };
  },
};

async function accept(ctx: PageCtx, token: string): Promise<Shown | LedTo> {
  const done = await attempt(ctx.call('acceptInvitation', { body: { token } }));
  if (done instanceof Refusal) return show(ctx, token, { fault: done });
  forgetToken(ctx, 'invitation');
  // The person who accepts wants to be there; a team that cannot be entered just now shows in the account.
  await attempt(ctx.call('switchTeam', { path: { team_id: done.team_id } }));
  return { to: '/account?said=joined' };
}

async function show(
  ctx: PageCtx,
  token: string | undefined,
  { name, fault }: { name?: string; fault?: Refusal },
): Promise<Shown> {
  const invitation = token === undefined ? undefined : await lookAtInvitation(ctx.store, token);
  if (token === undefined || !invitation) return deadLink(renderLink('/sign-in', 'Sign in'));
  return {
    title: `You are invited to ${invitation.team}`,
    content: `${sayWho(invitation)}\n${waysIn(ctx, { token, invitation, name, fault })}`,
    ...afterFault(fault),
  };
}

const sayWho = ({ team, role, email, inviter }: ShownInvitation): string =>
  `<p>${inviter === null ? 'Somebody who leads it' : bdi(inviter)} invites ${bdi(email)} to the team <strong>${bdi(team)}</strong>, in the role ${role}.</p>`;

interface Way {
  token: string;
  invitation: ShownInvitation;
  name: string | undefined;
  fault: Refusal | undefined;
}

function waysIn({ session, store }: PageCtx, { token, invitation, name, fault }: Way): string {
  if (session && session.actor.userId === invitation.userId) {
    return renderForm({ action: PATH, submit: 'Accept', hidden: { token }, fault });
  }
  if (session) {
    return [
      fault ? renderAlert(fault.message) : '',
      `<p>You are signed in as ${bdi(session.actor.name)}, which is another address.</p>`,
      renderForm({ action: '/sign-out', submit: 'Sign out, and go on', hidden: { next: PATH } }),
    ].join('\n');
  }
  if (invitation.userId !== null) {
    const alert = fault ? renderAlert(fault.message) : '';
    return `${alert}<p>This address has an account.</p>${renderLinks(renderLink(withNext('/sign-in', PATH), 'Sign in to accept'))}`;
  }
  if (store.config.accounts.sign_up === 'closed') {
    return '<p>This address has no account yet, and nobody makes one by themselves on this service; ask whoever runs it.</p>';
  }
  return renderForm({
    ...{ action: PATH, submit: 'Make my account and join', hidden: { token }, username: invitation.email, fault },
    fields: [
      { name: 'name', label: 'Your name', autocomplete: 'name', value: name, isOptional: true },
      newPasswordField,
    ],
  });
}
