// A client with the connection pool of JNDI: three requests at a time, after each of these pauses.
//   java [options] JndiClient.java ADDRESS USER PASSWORD PATIENCE_MS PAUSES [ENVIRONMENT…]
// It prints one line of JSON: how many requests it made, and what became of those that were lost.
import java.util.ArrayList;
import java.util.Hashtable;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.naming.directory.DirContext;
import javax.naming.directory.InitialDirContext;

class JndiClient {
    static final int AT_ONCE = 3;

    public static void main(String[] arguments) throws Exception {
        Hashtable<String, String> environment = new Hashtable<>();
        environment.put("java.naming.factory.initial", "com.sun.jndi.ldap.LdapCtxFactory");
        environment.put("java.naming.provider.url", "ldap://" + arguments[0]);
        environment.put("java.naming.security.principal", arguments[1]);
        environment.put("java.naming.security.credentials", arguments[2]);
        environment.put("com.sun.jndi.ldap.connect.pool", "true");
        long patience = Long.parseLong(arguments[3]);
        for (int i = 5; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            environment.put(pair[0], pair[1]);
        }
        ExecutorService threads = Executors.newCachedThreadPool(JndiClient::daemon);
        List<String> lost = new ArrayList<>();
        int requests = 0;
        double slowest = 0;
        for (String pause : arguments[4].split(",")) {
            Thread.sleep((long) (1000 * Double.parseDouble(pause)));
            long began = System.nanoTime();
            List<Future<Object>> waiting = new ArrayList<>();
            for (int i = 0; i < AT_ONCE; i++) {
                Callable<Object> one = () -> request(environment);
                waiting.add(threads.submit(one));
            }
            for (Future<Object> one : waiting) {
                requests++;
                try {
                    one.get(patience, TimeUnit.MILLISECONDS);
                    slowest = Math.max(slowest, (System.nanoTime() - began) / 1e9);
                } catch (Exception error) {
                    lost.add(pause + " s: " + error);
                }
            }
        }
        StringBuilder told = new StringBuilder();
        for (String one : lost) {
            told.append(told.length() == 0 ? "" : ", ").append('"').append(one.replaceAll("[^ -~]|[\"\\\\]", " ")).append('"');
        }
        System.out.println("{\"requests\": " + requests + ", \"lost\": [" + told + "], \"slowest\": " + slowest + "}");
    }

    static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    static Object request(Hashtable<String, String> environment) throws Exception {
        DirContext context = new InitialDirContext(environment);
        try {
            return context.getAttributes("dc=example,dc=com");
        } finally {
            context.close();
        }
    }
}
