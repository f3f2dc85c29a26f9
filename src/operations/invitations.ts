import {
  acceptInvitation,
  createInvitation,
  listInvitations,
  revokeInvitation,
} from '../features/identity/invitations/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const invitations = {
  listInvitations: (ctx, { path, query }) => listInvitations(ctx, path.team_id, pageOf(query)),
  createInvitation: (ctx, { path, body }) => createInvitation(ctx, path.team_id, body),
  revokeInvitation: (ctx, { path }) => revokeInvitation(ctx, path.team_id, path.invitation_id),
  acceptInvitation: (ctx, { body }) => acceptInvitation(ctx, body.token),
} satisfies Partial<Operations>;
