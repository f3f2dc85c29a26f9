import fastify from 'fastify';
import { answerOrders } from './children.ts';

/** The lower bound for any HTTP server here: parse the same JSON, answer an id or a redirect, check and store nothing. */
const server = fastify();
server.post('/emails', (request) => ({ id: (request.body as { subject: string }).subject.slice(0, 36) }));
server.get('/c/:token', (_request, reply) => reply.redirect('https://example.com/landing/page', 302));
const url = await server.listen({ host: '127.0.0.1', port: 0 });

answerOrders(() => ({ url }));
