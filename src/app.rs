//! The parts put together: a store, the service on it, the server on a given listener.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use actix_web::web::{Data, ServiceConfig};
use actix_web::{App, HttpServer, middleware};

use crate::comparison::{Service, ServiceHost, StartError};
use crate::config::Settings;
use crate::http::{Api, guard, routes};
use crate::store::Store;

/// Serves until SIGTERM or Ctrl-C, then finishes what was accepted: requests in flight, and computations whose
/// clients have gone.
///
/// # Errors
/// When threads or the server cannot be started.
pub fn run(settings: &Settings, store: Arc<dyn Store>, listener: TcpListener) -> io::Result<()> {
    let host = ServiceHost::start(settings, store).map_err(start_error)?;
    let outcome = actix_web::rt::System::new().block_on(async {
        let server = server(settings, &host, listener, |_| {})?;
        let handle = server.handle();
        actix_web::rt::spawn(async move {
            asked_to_stop().await;
            tracing::info!("stopping: finishing what was accepted");
            handle.stop(true).await;
        });
        server.await
    });
    host.stop(settings.shutdown_timeout());
    outcome
}

/// A server on threads of its own.
pub struct RunningServer {
    address: SocketAddr,
    service: Arc<Service>,
    handle: ServerHandle,
    thread: std::thread::JoinHandle<io::Result<()>>,
}

/// Starts a server and returns: for tests, and for commands that ask it themselves.
///
/// # Errors
/// When threads or the server cannot be started.
pub fn spawn(settings: &Settings, store: Arc<dyn Store>, listener: TcpListener) -> io::Result<RunningServer> {
    spawn_with(settings, store, listener, |_| {})
}

/// The same with more routes: a bench measures answers beside one that costs nothing, from the same server.
///
/// # Errors
/// As [`spawn`].
pub fn spawn_with(
    settings: &Settings,
    store: Arc<dyn Store>,
    listener: TcpListener,
    more: fn(&mut ServiceConfig),
) -> io::Result<RunningServer> {
    let address = listener.local_addr()?;
    let host = ServiceHost::start(settings, store).map_err(start_error)?;
    let service = Arc::clone(host.service());
    let settings = settings.clone();
    let (started, when_started) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name("server".to_owned()).spawn(move || {
        let outcome = actix_web::rt::System::new().block_on(async {
            let server = server(&settings, &host, listener, more)?;
            // The receiver waits for exactly this.
            let _ = started.send(server.handle());
            server.await
        });
        host.stop(settings.shutdown_timeout());
        outcome
    })?;
    match when_started.recv() {
        Ok(handle) => Ok(RunningServer { address, service, handle, thread }),
        Err(_) => match thread.join() {
            Ok(Err(error)) => Err(error),
            _ => Err(io::Error::other("the server ended before it began")),
        },
    }
}

impl RunningServer {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The service behind it.
    pub fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Stays up until SIGTERM or Ctrl-C, then finishes what was accepted and stops.
    ///
    /// # Errors
    /// When the server ended by an error.
    pub fn wait(self) -> io::Result<()> {
        actix_web::rt::System::new().block_on(asked_to_stop());
        self.stop()
    }

    /// Finishes what was accepted and stops.
    ///
    /// # Errors
    /// When the server ended by an error.
    pub fn stop(self) -> io::Result<()> {
        let Self { service, handle, thread, .. } = self;
        drop(service);
        // Said at once; the thread ends when it is done.
        drop(handle.stop(true));
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the server panicked")))
    }
}

fn server(
    settings: &Settings,
    host: &ServiceHost,
    listener: TcpListener,
    more: fn(&mut ServiceConfig),
) -> io::Result<Server> {
    let api = Data::new(Api::new(Arc::clone(host.service()), settings.clone()));
    let mut server = HttpServer::new(move || {
        App::new().app_data(api.clone()).wrap(middleware::from_fn(guard)).configure(more).configure(routes)
    })
    .disable_signals()
    .shutdown_timeout(settings.shutdown_timeout_s)
    .client_disconnect_timeout(Duration::from_secs(5))
    .keep_alive(Duration::from_secs(75));
    if settings.http_workers > 0 {
        server = server.workers(settings.http_workers);
    }
    // The standard library has the system queue 128 connections; what comes beyond is dropped and waits for its own
    // retries, seconds apart. A crowd is to be answered, or shed with 503, so the queue holds as many as are served.
    let backlog = i32::try_from(settings.max_requests_in_flight.max(128)).unwrap_or(i32::MAX);
    socket2::SockRef::from(&listener).listen(backlog)?;
    Ok(server.listen(listener)?.run())
}

fn start_error(error: StartError) -> io::Error {
    io::Error::other(error)
}

async fn asked_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    // Without a handler there is nothing to wait for: the process ends as the system ends it.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
