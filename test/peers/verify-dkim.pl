# Verifies messages with Mail::DKIM: the port of a name server on loopback, then files. One line each: the result.
use strict;
use warnings;
use Mail::DKIM::DNS;
use Mail::DKIM::Verifier;
use Net::DNS::Resolver;

my ($port, @files) = @ARGV;
my $resolver = Net::DNS::Resolver->new(nameservers => ['127.0.0.1'], port => $port, recurse => 1, retry => 1);
$resolver->udp_timeout(5);
$resolver->tcp_timeout(5);
Mail::DKIM::DNS::resolver($resolver);

for my $file (@files) {
    open my $in, '<:raw', $file or die "$file: $!";
    my $verifier = Mail::DKIM::Verifier->new;
    while (my $chunk = <$in>) { $verifier->PRINT($chunk); }
    $verifier->CLOSE;
    my @signatures = $verifier->signatures;
    print scalar(@signatures), ' ', $verifier->result_detail, "\n";
}
